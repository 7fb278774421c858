/* viewtally backup list, verify and prune. */
#include "backup/backup_dir.h"
#include "backup/backup_format.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/cmd_backup.h"
#include "cli/database.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/replace.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum cli_exit read_list(const struct cli *cli, struct backup_list *list)
{
    struct error error;
    if (!cli_has_backup_directory(cli))
        return CLI_USAGE;
    if (!backup_dir_list(cli->config.backup.directory, list, &error))
        return CLI_DONE;
    VEC_FREE(&list->entries);
    return cli_fail(CLI_COULD_NOT, "%s", error.text);
}

/* ---- list ---- */

static void add_row(struct table *t, const struct backup_entry *e)
{
    struct buf *b = &t->json;
    char id[16];
    (void)snprintf(id, sizeof id, "%08x", e->id);
    if (t->is_json) {
        json_open(b, '{');
        JSON_TIME(b, "started_at", e->time_ms);
        JSON_I64(b, "bytes", e->bytes);
        JSON_STR(b, "database_id", str_from_cstr(id));
        JSON_STR(b, "file", str_from_cstr(e->name));
        json_close(b, '}');
        return;
    }
    table_add_time(t, e->time_ms, "");
    table_add_i64(t, e->bytes);
    table_add_text(t, str_from_cstr(id));
    table_add_text(t, str_from_cstr(e->name));
}

enum cli_exit backup_list_files(struct cli *cli, const struct cli_arguments *arguments)
{
    static const char *const headings[] = {"STARTED", "#BYTES", "DATABASE", "FILE", NULL};
    struct backup_list list;
    struct table table;
    const enum cli_exit code = read_list(cli, &list);
    if (code)
        return code;
    table_init(&table, headings, cli_flag(arguments, "json"));
    for (size_t i = 0; i < list.entries.count; i++)
        add_row(&table, &list.entries.items[i]);
    if (!list.entries.count)
        cli_note("%s has no scheduled backup", cli->config.backup.directory);
    VEC_FREE(&list.entries);
    return table_print(&table);
}

const struct cli_option backup_list_options[] = {{.name = "json", .help = "Print JSON."}, {0}};

/* ---- verify ---- */

static bool verify(const char *path)
{
    struct error error;
    if (backup_format_check(path, path, &error)) {
        (void)cli_fail(CLI_PART, "%s", error.text);
        return false;
    }
    if (store_check_identity(path, &error) || store_verify(path, NULL, &error)) {
        (void)cli_fail(CLI_PART, "%s: use another backup", error.text);
        return false;
    }
    printf("%s: every page is intact\n", path);
    return true;
}

static enum cli_exit verify_all(const struct cli *cli)
{
    struct backup_list list;
    char path[PATH_MAX];
    enum cli_exit code = read_list(cli, &list);
    if (code)
        return code;
    for (size_t i = 0; i < list.entries.count; i++) {
        const int n =
            snprintf(path, sizeof path, "%s/%s", cli->config.backup.directory, list.entries.items[i].name);
        if (n < 0 || (size_t)n >= sizeof path || !verify(path))
            code = CLI_PART;
    }
    if (!list.entries.count)
        code = cli_fail(CLI_PART, "%s has no scheduled backup", cli->config.backup.directory);
    VEC_FREE(&list.entries);
    return code;
}

enum cli_exit backup_verify_files(struct cli *cli, const struct cli_arguments *arguments)
{
    enum cli_exit code = CLI_DONE;
    log_set(LOG_NOTHING, cli->config.log.format); /* the results contain the errors that would be logged */
    if (!arguments->operand_count)
        return verify_all(cli);
    for (int i = 0; i < arguments->operand_count; i++)
        if (!verify(arguments->operands[i]))
            code = CLI_PART;
    return code;
}

/* ---- prune ---- */

struct pruning {
    const char *directory;
    const char *verb;
};

static void on_deleted(void *ctx, const struct backup_entry *entry)
{
    const struct pruning *p = ctx;
    printf("%s %s/%s\n", p->verb, p->directory, entry->name);
}

static void print_all_kept(size_t count)
{
    const int64_t n = (int64_t)count;
    if (n == 0)
        printf("nothing to delete: there is no backup of this database\n");
    else
        printf("nothing to delete: %s of this database %s kept\n",
               plural(n, "the only backup", "all backups"), plural(n, "is", "are"));
}

static enum cli_exit prune_backups(struct cli *cli, bool dry_run)
{
    const struct config *c = &cli->config;
    struct pruning shown = {c->backup.directory, dry_run ? "would delete" : "deleted"};
    const struct backup_pruning pruning = {
        .directory = c->backup.directory,
        .rule = {c->backup.keep_hourly, c->backup.keep_daily, c->backup.keep_weekly},
        .now_ms = clock_wall_ms(),
        .dry_run = dry_run,
        .deleted = on_deleted,
        .ctx = &shown,
    };
    struct error error = {0};
    struct backup_list list;
    enum cli_exit code = read_list(cli, &list);
    if (code)
        return code;
    struct store *store = cli_open_store(cli);
    enum err err = store ? backup_dir_select_own(&list, store) : ERR_IO;
    if (store)
        store_close(store);
    if (!store)
        code = CLI_COULD_NOT;
    else if (err)
        code = cli_fail(CLI_COULD_NOT, "database error: %s", err_name(err));
    else if (backup_dir_prune(&pruning, &list, &error) == 0 && !error.code)
        print_all_kept(list.entries.count);
    if (error.code)
        code = cli_fail(CLI_COULD_NOT, "%s", error.text);
    VEC_FREE(&list.entries);
    return code;
}

static enum cli_exit delete_file(const char *path, bool dry_run)
{
    if (access(path, F_OK) != 0)
        return CLI_DONE;
    if (!dry_run && unlink(path) != 0)
        return cli_fail(CLI_COULD_NOT, "cannot delete %s: %s", path, strerror(errno));
    printf("%s %s\n", dry_run ? "would delete" : "deleted", path);
    return CLI_DONE;
}

/* Deletes a before-file, which is a database that a restore has replaced. Deletes its companion files, such
 * as -wal, first, and the database file last. */
static enum cli_exit delete_before_file(const char *path, bool dry_run)
{
    char companion[PATH_MAX];
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        (void)snprintf(companion, sizeof companion, "%s%s", path, replace_companions[i]);
        const enum cli_exit code = delete_file(companion, dry_run);
        if (code)
            return code;
    }
    return delete_file(path, dry_run);
}

/* Deletes the before-files while the shared lock prevents a restore from starting. cli_open_store() fails if
 * the database is missing or damaged; in this case the only usable database may be a before-file, so nothing
 * is deleted. */
static enum cli_exit prune_before_files(struct cli *cli, bool dry_run)
{
    struct before_list list;
    struct error error;
    if (!cli_require_file(cli, "delete the files viewtally.before-*.db of restores yourself; they are in "
                               "[backup] directory, or else in the directory in which restore was run"))
        return CLI_USAGE;
    struct store *store = cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    store_close(store);
    if (store_verify(cli->config.store.path, NULL, &error))
        return cli_fail(CLI_COULD_NOT, "%s: the files of earlier restores are kept", error.text);
    enum cli_exit code = CLI_DONE;
    if (!database_list_replaced(cli->config.store.path, &list))
        code = cli_fail(CLI_COULD_NOT, "the directory of %s cannot be read: %s", cli->config.store.path,
                        strerror(errno));
    for (size_t i = 0; i < list.paths.count && code == CLI_DONE; i++)
        code = delete_before_file(list.paths.items[i].path, dry_run);
    if (code == CLI_DONE && !list.paths.count)
        printf("nothing to delete: no database was replaced by a restore\n");
    VEC_FREE(&list.paths);
    return code;
}

enum cli_exit backup_prune_files(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool dry_run = cli_flag(arguments, "dry-run");
    return cli_flag(arguments, "before-files") ? prune_before_files(cli, dry_run)
                                               : prune_backups(cli, dry_run);
}

const struct cli_option backup_prune_options[] = {
    {.name = "dry-run", .help = "Print what would be deleted, and delete nothing."},
    {.name = "before-files", .help = "Delete the databases that restores have replaced, instead of backups."},
    {0},
};

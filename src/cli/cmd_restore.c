/* viewtally restore: replaces the database with a backup.
 *
 *     lock -> check that no other process uses the database -> draft: copy, verify, migrate,
 *     carry over revocations (carry.h) -> replace (replace.h)
 *
 * The draft is the new database under a temporary name. Everything that takes long or can fail happens in the
 * draft, so the old database stays in place until the new one is complete and synced. */
#include "backup/backup_format.h"
#include "base/clock.h"
#include "base/file_owner.h"
#include "base/json.h"
#include "base/seam.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "cli/restore_draft.h"
#include "cli/restore_drill.h"
#include "cli/restore_report.h"
#include "cli/restore_server.h"
#include "cli/std_stream.h"
#include "store/carry.h"
#include "store/replace.h"
#include "store/store_config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct restore {
    const char *file;  /* path of the backup; "-" until standard input has been copied to a file */
    const char *shown; /* name of the backup in messages */
    const char *database;
    bool force, is_json;
    struct database_lock lock;
    struct replacement replacement;
    struct carry_result carried;
};

/* Handles a failed check. Prints an error, or with --force, prints a line that names the skipped check and
 * returns CLI_DONE. */
static enum cli_exit refuse_or_skip(const struct restore *r, const char *check, const char *why)
{
    if (!r->force)
        return cli_fail(CLI_COULD_NOT,
                        "%s. Nothing was changed. If you are sure that no process uses the database, "
                        "--force skips this check (%s)",
                        why, check);
    (void)fprintf(r->is_json ? stderr : stdout, "--force: skipped: %s: %s\n", check, why);
    return CLI_DONE;
}

/* Checks that no other program, such as an sqlite3 shell, uses the database, and checkpoints the write-ahead
 * log. (The database lock already excludes other viewtally processes.) */
static enum cli_exit check_unused(const struct restore *r)
{
    struct error error;
    if (access(r->database, F_OK) != 0 || store_claim(r->database, &error) == OK)
        return CLI_DONE;
    if (error.code == ERR_FULL && !r->force)
        return cli_fail(CLI_COULD_NOT, "%s. Nothing was changed", error.text);
    return refuse_or_skip(r, "SQLite's own check that no other process uses the database", error.text);
}

/* Returns the path of the database from which revocations are carried over. This is the current database, or
 * the database that an interrupted restore has renamed. If both are missing, it is the newest database that
 * an earlier restore has renamed, which contains at least the revocations until that restore. Returns NULL if
 * no such database exists. */
static const char *replaced_of(const struct replacement *r)
{
    return !r->is_missing ? r->path : r->before[0] ? r->before : NULL;
}

/* Gives the draft its own identity. Event ids that were served after the backup must not be issued again. The
 * new ids are therefore greater than the ids of the replaced database. In case that database is unreadable,
 * they are also greater than the current time plus a day. That is sufficient, because ids are times in
 * milliseconds, and get ahead of the clock only if more than 1,000 events a second are created. */
static enum err renew_draft(struct restore *r, struct error *error)
{
    const struct replacement *p = &r->replacement;
    const char *replaced = replaced_of(p);
    if (!replaced)
        (void)snprintf(r->carried.why, sizeof r->carried.why, "it does not exist");
    enum err err = store_renew(p->draft, clock_wall_ms() + DAY_MS, replaced, &r->carried, error);
    if (replaced && p->is_missing && !p->resumes && r->carried.is_complete) {
        r->carried.is_complete = false;
        (void)snprintf(r->carried.why, sizeof r->carried.why,
                       "the database does not exist, so %.400s was read instead", replaced);
    }
    return err;
}

static enum err fill_draft(struct restore *r, struct error *error)
{
    const enum err err = restore_draft_fill(r->file, r->shown, r->replacement.draft, error);
    return err ? err : renew_draft(r, error);
}

static void print_result(const struct restore *r)
{
    const struct replacement *p = &r->replacement;
    char owner[FILE_OWNER_TEXT_MAX];
    file_owner_format(p->path, owner);
    printf("%s: restored from %s (%s)\n", r->database, r->shown, owner);
    if (p->moved[0])
        printf("The old database was moved to %s\n", p->before);
    for (int i = 0; i < REPLACE_COMPANIONS; i++)
        if (p->moved[1 + i])
            printf("Its %s file was moved to %s%s\n", replace_companions[i], p->before,
                   replace_companions[i]);
}

static enum cli_exit print_json(const struct restore *r)
{
    const struct replacement *p = &r->replacement;
    char names[REPLACE_COMPANIONS][sizeof p->before + 8];
    struct restored restored = {.store = {.path = r->database, .mode = STORE_READ},
                                .name = r->database,
                                .from = r->shown,
                                .replaced = p->moved[0] ? p->before : NULL};
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s%s", p->before, replace_companions[i]);
        if (p->moved[1 + i])
            restored.replaced_files[restored.replaced_file_count++] = names[i];
    }
    return restore_report_print_json(&restored, &r->carried);
}

static enum cli_exit report(const struct restore *r)
{
    const struct store_options store = {.path = r->database, .mode = STORE_READ};
    if (r->is_json)
        return print_json(r);
    print_result(r);
    return restore_report_print(&store, &r->carried);
}

static enum cli_exit replace(struct restore *r)
{
    struct error error;
    if (database_replace_begin(&r->replacement, r->database, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    enum cli_exit code = CLI_DONE;
    if (fill_draft(r, &error))
        code = cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (code == CLI_DONE)
        code = check_unused(r);
    if (code == CLI_DONE && database_replace_publish(&r->replacement, clock_wall_ms(), &error))
        code = cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (code && !r->replacement.is_published) {
        database_replace_abort(&r->replacement);
        return code;
    }
    const enum cli_exit reported = report(r);
    return code ? code : reported;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Copies standard input to a temporary file. Checks the header of the file here, so that the messages name
 * standard input and not the temporary file. */
static enum cli_exit read_input(const struct cli *cli, char input[FILE_PATH_MAX])
{
    struct error error;
    const enum cli_exit code = std_stream_save_input(cli, input);
    if (code)
        return code;
    if (!backup_format_check(input, "standard input", &error) && !store_check_identity(input, &error))
        return CLI_DONE;
    (void)unlink(input);
    error_replace(&error, input, "standard input");
    return cli_fail(CLI_PART, "%s. Nothing was changed", error.text);
}

/* Replaces the database with the backup. Standard input is copied only here, after the checks, because
 * copying may take long. */
static enum cli_exit replace_from(struct cli *cli, struct restore *r)
{
    const bool is_input = strcmp(r->file, "-") == 0;
    char input[FILE_PATH_MAX];
    enum cli_exit code = is_input ? read_input(cli, input) : CLI_DONE;
    if (code)
        return code;
    if (is_input)
        r->file = input;
    code = store_config_is_file(&cli->config)
               ? replace(r)
               : restore_to_server(cli, r->file, r->shown, r->is_json, r->force);
    if (is_input)
        (void)unlink(input);
    return code;
}

static enum cli_exit replace_database(struct cli *cli, struct restore *r)
{
    struct error error;
    enum cli_exit code = CLI_DONE;
    if (strcmp(r->file, "-") != 0 && backup_format_check(r->file, r->file, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (!store_config_is_file(&cli->config)) {
        code = strcmp(r->file, "-") == 0 ? restore_check_server(cli, r->force) : CLI_DONE;
        return code ? code : replace_from(cli, r);
    }
    if (database_lock_acquire_exclusive(&r->lock, r->database, &error))
        code = refuse_or_skip(r, "the database lock", error.text);
    if (code == CLI_DONE)
        code = check_unused(r);
    if (code == CLI_DONE)
        code = replace_from(cli, r);
    database_lock_release(&r->lock);
    return code;
}

static enum cli_exit drill(struct cli *cli, const char *file, bool is_json)
{
    char input[FILE_PATH_MAX];
    log_set(LOG_NOTHING, cli->config.log.format); /* the report contains what would be logged */
    if (strcmp(file, "-") != 0)
        return restore_drill(cli, file, file, is_json);
    enum cli_exit code = std_stream_save_input(cli, input);
    if (code)
        return code;
    code = restore_drill(cli, input, "standard input", is_json);
    (void)unlink(input);
    return code;
}

static enum cli_exit check_file(const struct restore *r, bool is_on_server)
{
    struct stat st;
    if (strcmp(r->file, "-") == 0)
        return CLI_DONE;
    if (access(r->file, R_OK) != 0 || stat(r->file, &st) != 0)
        return cli_fail(CLI_COULD_NOT, "cannot read %s: %s", r->file, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return cli_fail(CLI_USAGE, "%s is not a regular file; to read a pipe, use - with standard input",
                        r->file);
    if (!is_on_server && is_same_file(r->file, r->database))
        return cli_fail(CLI_USAGE, "%s is the database itself: choose a backup", r->file);
    return CLI_DONE;
}

static enum cli_exit run_restore(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool is_input = strcmp(arguments->operands[0], "-") == 0;
    struct restore r = {.file = arguments->operands[0],
                        .shown = is_input ? "standard input" : arguments->operands[0],
                        .database = cli->config.store.path,
                        .force = cli_flag(arguments, "force"),
                        .is_json = cli_flag(arguments, "json"),
                        .lock.file.fd = -1};
    const enum cli_exit code = check_file(&r, !store_config_is_file(&cli->config));
    if (code)
        return code;
    return cli_flag(arguments, "drill") ? drill(cli, r.file, r.is_json) : replace_database(cli, &r);
}

static const struct cli_option restore_options[] = {
    {.name = "drill",
     .help =
         "Restore to a temporary directory ($TMPDIR, or else beside the database), check every page and "
         "that all numbers agree, print a report, and delete the copy. Changes nothing; the server may keep "
         "running. Exit status 1: the backup cannot be restored."},
    {.name = "json", .help = "Print the result as JSON."},
    {.name = "force",
     .help =
         "Skip the checks that no process uses the database (its lock file, its SQLite lock, and whether "
         "it can be read; on a server, its connections and the copy of its data). First stop all viewtally "
         "servers yourself: data that a running server writes would be lost."},
    {0},
};

static const struct cli_action actions[] = {
    {.operands = "FILE",
     .operands_min = 1,
     .operands_max = 1,
     .options = restore_options,
     .description =
         "Verifies FILE (-: standard input), migrates a copy of it to this version and replaces the database "
         "with the copy. The "
         "old database and its -wal, -shm and -journal files are renamed to DATABASE.before-TIME. The new "
         "database gets the owner, group and permissions of the old one. Event ids are never reused. "
         "Revocations that were made after the backup are carried over from the old database: revoked keys, "
         "ended plans, removed apps, replaced secrets and passwords, and disconnected platform accounts. If "
         "the old database cannot be read completely, the command lists the keys, active plans, apps and "
         "platform accounts that are valid in the restored database, with ids, so that you can revoke them; "
         "passwords may be those from the time of the backup.\n\n"
         "If a restore is interrupted, the database may be missing, and the server then refuses to start. "
         "Run the restore again.\n\n"
         "If the database is on a server ([store] url), its data is replaced in one transaction. Before "
         "that, "
         "it is copied to the file viewtally.before-TIME.db in [backup] directory or else in the working "
         "directory. The role must own the tables.",
     .partial = "with --drill, the backup cannot be restored; or standard input is empty or not a backup",
     .examples = "viewtally restore --drill /var/backups/viewtally.db\n"
                 "viewtally restore /var/backups/viewtally.db\n"
                 "ssh backup.example cat viewtally.db.zst | zstd -d | viewtally restore -",
     .run = run_restore},
    {0},
};

const struct cli_command cli_restore = {
    .name = "restore",
    .summary = "replace the database with a backup; the server must be stopped",
    .actions = actions,
};

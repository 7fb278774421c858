/* Restores a backup to a database server. A restore to a file keeps the present data by renaming the file;
 * here, the present data are first copied to a file:
 *
 *     check that no other process uses the database -> begin a transaction, which excludes writers
 *       -> copy the present data to the file "before" -> draft: copy, verify, migrate the backup,
 *          carry over revocations from "before" (carry.h)
 *       -> delete all rows, copy the draft to the server, compare -> commit
 *
 * The draft is a database file, so the rules of carry.h need no second implementation for database
 * servers. */
#include "cli/restore_server.h"

#include "backup/backup_file.h"
#include "base/clock.h"
#include "base/seam.h"
#include "cli/output.h"
#include "cli/restore_draft.h"
#include "cli/restore_report.h"
#include "cli/std_stream.h"
#include "store/move.h"
#include "store/store_config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct server_restore {
    const struct config *config;
    const char *file, *shown;
    bool is_json, force;
    char directory[FILE_PATH_MAX]; /* the temporary directory that contains the draft */
    char draft[FILE_PATH_MAX + 16];
    char before[FILE_PATH_MAX]; /* the file with the replaced data; "" if it could not be copied */
    struct carry_result carried;
};

/* Prints a line that names the check that --force skips. */
static void note_skipped(const struct server_restore *r, const char *check, const char *why)
{
    (void)fprintf(r->is_json ? stderr : stdout, "--force: skipped: %s: %s\n", check, why);
}

/* ---- the copy of the replaced data ---- */

/* Chooses an unused name in [backup] directory or else in the working directory. Scheduled backups never
 * delete a file of this name. */
static enum err choose_before_file(struct server_restore *r, struct error *error)
{
    const char *directory = *r->config->backup.directory ? r->config->backup.directory : ".";
    char time[TIME_NAME_LEN + 1], path[FILE_PATH_MAX];
    for (int64_t t_ms = clock_wall_ms();; t_ms += SECOND_MS) {
        time_name_format(t_ms, time);
        const int n = snprintf(path, sizeof path, "%s/viewtally.before-%s.db", directory, time);
        if (n < 0 || (size_t)n >= sizeof path)
            return error_set(error, ERR_INVALID, "%s: the path is too long", directory);
        if (access(path, F_OK) != 0)
            return file_target_resolve(path, r->before, error);
    }
}

static enum err copy_present(struct server_restore *r, struct error *error)
{
    const struct store_options from = store_options_from_config(r->config, STORE_READ);
    struct backup_draft draft;
    enum err err = choose_before_file(r, error);
    if (!err)
        err = backup_draft_make(&draft, &from, r->before, NULL, error);
    if (!err)
        err = backup_draft_publish(&draft, false, error);
    if (err)
        r->before[0] = '\0';
    return err;
}

/* Copies the present data to the file "before". With --force, continues after a failure, but then no
 * revocations are carried over. */
static enum err keep_present(struct server_restore *r, struct error *error)
{
    struct error why;
    const enum err err = copy_present(r, &why);
    if (!err)
        return OK;
    if (!r->force)
        return error_set(error, err,
                         "the present data cannot be copied: %s. --force restores without carrying over "
                         "revocations",
                         why.text);
    note_skipped(r, "the copy of the present data", why.text);
    (void)snprintf(r->carried.why, sizeof r->carried.why, "it could not be copied");
    return OK;
}

/* ---- replacing the data ---- */

/* Deletes the files that SQLite keeps beside a database file. Precondition: the database is closed, and its
 * write-ahead log is empty. */
static void remove_companions(const char *database)
{
    char path[sizeof((struct server_restore *)0)->draft + 16];
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        (void)snprintf(path, sizeof path, "%s%s", database, replace_companions[i]);
        (void)unlink(path);
    }
}

static enum err create_draft(const struct server_restore *r, struct error *error)
{
    FILE *file = fopen(r->draft, "wx");
    if (!file || fclose(file) != 0)
        return error_set(error, ERR_IO, "%s cannot be created", r->draft);
    return restore_draft_fill(r->file, r->shown, r->draft, error);
}

/* Copies the present data and makes the draft. The event ids of the draft are greater than those of the
 * present data; renew_draft() in cmd_restore.c explains why a day is added. */
static enum err fill(void *ctx, struct error *error)
{
    struct server_restore *r = ctx;
    enum err err = keep_present(r, error);
    seam_kill_point();
    if (!err)
        err = create_draft(r, error);
    if (err)
        return err;
    err = store_renew(r->draft, clock_wall_ms() + DAY_MS, *r->before ? r->before : NULL, &r->carried, error);
    if (*r->before)
        remove_companions(r->before); /* store_renew() has read this database, which leaves an empty
                                         write-ahead log beside it */
    return err;
}

static void remove_draft(const struct server_restore *r)
{
    (void)unlink(r->draft);
    remove_companions(r->draft);
    (void)rmdir(r->directory);
}

static enum cli_exit report_failure(const struct server_restore *r, bool committing, const char *why)
{
    if (!committing) {
        if (*r->before)
            (void)unlink(r->before);
        return cli_fail(CLI_COULD_NOT, "%s. Nothing was changed", why);
    }
    return cli_fail(CLI_COULD_NOT,
                    "%s. It is unknown whether the data was replaced; the old data is in %s. Run the command "
                    "again",
                    why, *r->before ? r->before : "no file");
}

static enum cli_exit replace(struct cli *cli, struct server_restore *r)
{
    struct error error;
    bool committing;
    enum cli_exit code = std_stream_create_directory(cli, r->directory);
    if (code)
        return code;
    (void)snprintf(r->draft, sizeof r->draft, "%s/draft.db", r->directory);
    const struct move_replacement replacement = {.to = store_options_from_config(r->config, STORE_WRITE),
                                                 .from = r->draft,
                                                 .fill = fill,
                                                 .ctx = r,
                                                 .ignores_servers = r->force};
    if (move_replace(&replacement, &committing, &error))
        code = report_failure(r, committing, error.text);
    remove_draft(r);
    return code;
}

/* ---- the command ---- */

/* Checks that the data may be replaced. If the check fails, prints an error. But if the check fails because
 * another process uses the database and `force` is true, returns CLI_DONE and sets `*skipped` to the reason
 * instead. */
static enum cli_exit check_replaceable(const struct config *config, bool force, struct error *skipped)
{
    const struct store_options to = store_options_from_config(config, STORE_WRITE);
    *skipped = (struct error){.code = OK};
    const enum err err = move_check_replaceable(&to, skipped);
    if (err && (err != ERR_BUSY || !force))
        return cli_fail(CLI_COULD_NOT, "%s. Nothing was changed%s", skipped->text,
                        err == ERR_BUSY ? ". --force skips this check" : "");
    if (!err)
        skipped->code = OK; /* the check is repeated, so an error of an earlier attempt may be set */
    return CLI_DONE;
}

enum cli_exit restore_check_server(const struct cli *cli, bool force)
{
    struct error skipped;
    return check_replaceable(&cli->config, force, &skipped);
}

static enum cli_exit print_result(const struct server_restore *r)
{
    const struct restored restored = {.store = store_options_from_config(r->config, STORE_READ),
                                      .name = store_config_name(r->config),
                                      .from = r->shown,
                                      .replaced = *r->before ? r->before : NULL};
    if (r->is_json)
        return restore_report_print_json(&restored, &r->carried);
    printf("%s: restored from %s\n", restored.name, restored.from);
    if (restored.replaced)
        printf("The old data was copied to %s\n", restored.replaced);
    return restore_report_print(&restored.store, &r->carried);
}

enum cli_exit restore_to_server(struct cli *cli, const char *file, const char *shown, bool is_json,
                                bool force)
{
    struct server_restore r = {
        .config = &cli->config, .file = file, .shown = shown, .is_json = is_json, .force = force};
    struct error skipped;
    enum cli_exit code = check_replaceable(&cli->config, force, &skipped);
    if (code)
        return code;
    if (skipped.code)
        note_skipped(&r, "the check that no other process uses the database", skipped.text);
    code = replace(cli, &r);
    return code ? code : print_result(&r);
}

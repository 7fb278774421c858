/* viewtally restore: replaces the database with a backup.
 *
 *     lock -> check that no other process uses the database -> draft: copy, verify, migrate,
 *     carry over revocations (carry.h) -> replace (replace.h)
 *
 * The draft is the new database under a temporary name. Everything that takes long or can fail happens in the
 * draft, so the old database stays in place until the new one is complete and synced. */
#include "base/clock.h"
#include "base/file_owner.h"
#include "base/seam.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/restore_report.h"
#include "store/carry.h"
#include "store/replace.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct restore {
    const char *file; /* the backup */
    const char *database;
    bool force;
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
    printf("--force: skipped: %s: %s\n", check, why);
    return CLI_DONE;
}

/* Checks that no other program, such as an sqlite3 shell, uses the database, and checkpoints the write-ahead
 * log. (The database lock already excludes other viewtally processes.) */
static enum cli_exit check_unused(const struct restore *r)
{
    struct error error;
    if (access(r->database, F_OK) != 0 || store_claim(r->database, &error) == OK)
        return CLI_DONE;
    return refuse_or_skip(r, "SQLite's own check that no other process uses the database", error.text);
}

/* Returns the path of the replaced database: the current one, or the one that an interrupted restore renamed.
 * If there is neither, returns the file that an earlier restore renamed, which contains at least the
 * revocations until that restore. Returns NULL if there is no such file. */
static const char *replaced_of(const struct replacement *r)
{
    return !r->is_missing ? r->path : r->before[0] ? r->before : NULL;
}

/* Gives the draft its own identity. Event ids that were served after the backup must not be issued again. The
 * new ids are therefore greater than the ids of the replaced database. In case that database is unreadable,
 * they are also greater than the current time plus a day. That is sufficient, because ids are times in
 * milliseconds and run ahead of the clock only during more than 1,000 events a second. */
static enum err renew_draft(struct restore *r, struct error *error)
{
    const struct replacement *p = &r->replacement;
    const char *replaced = replaced_of(p);
    if (!replaced)
        (void)snprintf(r->carried.why, sizeof r->carried.why, "it does not exist");
    enum err err = store_renew(p->draft, clock_wall_ms() + DAY_MS, replaced, &r->carried, error);
    if (replaced && p->is_missing && !p->resumes && r->carried.is_complete) {
        r->carried.is_complete = false;
        (void)snprintf(r->carried.why, sizeof r->carried.why, "it does not exist, so %.400s was read",
                       replaced);
    }
    return err;
}

static enum err fill_draft(struct restore *r, struct error *error)
{
    const char *draft = r->replacement.draft;
    int applied;
    enum err err = store_copy(r->file, draft, error);
    seam_kill_point();
    if (err)
        return err;
    err = store_verify(draft, error);
    if (err)
        return err;
    err = store_migrate(draft, &applied, error);
    if (err)
        return err;
    seam_kill_point();
    return renew_draft(r, error);
}

static void print_result(const struct restore *r)
{
    const struct replacement *p = &r->replacement;
    char owner[FILE_OWNER_TEXT_MAX];
    file_owner_format(p->path, owner);
    printf("%s: restored from %s (%s)\n", r->database, r->file, owner);
    if (p->moved[0])
        printf("The old database was moved to %s\n", p->before);
    for (int i = 0; i < REPLACE_COMPANIONS; i++)
        if (p->moved[1 + i])
            printf("Its %s file was moved to %s%s\n", replace_companions[i], p->before,
                   replace_companions[i]);
}

static enum cli_exit replace(struct restore *r)
{
    struct error error;
    if (replace_begin(&r->replacement, r->database, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    enum cli_exit code = CLI_DONE;
    if (fill_draft(r, &error))
        code = cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (code == CLI_DONE)
        code = check_unused(r);
    if (code == CLI_DONE && replace_publish(&r->replacement, clock_wall_ms() / SECOND_MS, &error))
        code = cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (code)
        replace_abort(&r->replacement);
    else
        print_result(r);
    return code ? code : restore_report(r->database, &r->carried);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static enum cli_exit run_restore(struct cli *cli, const struct cli_arguments *arguments)
{
    struct restore r = {.file = arguments->operands[0],
                        .database = cli->config.store.path,
                        .force = cli_flag(arguments, "force"),
                        .lock.file.fd = -1};
    struct error error;
    enum cli_exit code = CLI_DONE;
    if (access(r.file, R_OK) != 0)
        return cli_fail(CLI_COULD_NOT, "cannot read %s: %s", r.file, strerror(errno));
    if (is_same_file(r.file, r.database))
        return cli_fail(CLI_USAGE, "%s is the database itself: choose a backup", r.file);
    if (database_lock_exclude(&r.lock, r.database, &error))
        code = refuse_or_skip(&r, "the database lock", error.text);
    if (code == CLI_DONE)
        code = check_unused(&r);
    if (code == CLI_DONE)
        code = replace(&r);
    database_lock_release(&r.lock);
    return code;
}

static const struct cli_option restore_options[] = {
    {.name = "force",
     .help = "Skip the checks that no process uses the database: of its lock file, its SQLite lock and its "
             "readability. Stop the server yourself first: a server that is still running would lose data."},
    {0},
};

static const struct cli_action actions[] = {
    {.operands = "FILE",
     .operands_min = 1,
     .operands_max = 1,
     .options = restore_options,
     .description =
         "Verifies FILE, migrates a copy of it to this version and replaces the database with the copy. The "
         "old database and its -wal, -shm and -journal files are renamed to DATABASE.before-TIME. The new "
         "database gets the owner, group and permissions of the old one. Event ids are never reused. "
         "Revocations made after the backup (of keys, plans, apps, secrets, passwords and platform accounts) "
         "are carried over from the old database. If it cannot be read completely, the command lists "
         "everything that is valid in the restored database, with ids, so that you can revoke it.\n\n"
         "If a restore is interrupted, the database may be missing, and the server then refuses to start. "
         "Run the restore again.",
     .examples = "viewtally restore /var/backups/viewtally.db",
     .run = run_restore},
    {0},
};

const struct cli_command cli_restore = {
    .name = "restore",
    .summary = "replace the database with a backup; the server must be stopped",
    .actions = actions,
};

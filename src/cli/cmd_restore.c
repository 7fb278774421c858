/* viewtally restore: puts a backup in the database's place.
 *
 *   lock -> check that SQLite sees no other user -> draft: copy, verify, migrate,
 *   carry over revocations (carry.h) -> replace
 * (replace.h)
 *
 * Everything that can fail for long happens in the draft, so that the old database stays where it is until
 * its successor is complete and on disk. */
#include "base/clock.h"
#include "base/file_owner.h"
#include "base/seam.h"
#include "cli/cli.h"
#include "cli/restore_report.h"
#include "store/carry.h"
#include "store/replace.h"

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

/* A check that failed: the end of it, or with --force a line that says what is skipped. */
static enum cli_exit refuse_or_skip(const struct restore *r, const char *check, const char *why)
{
    if (!r->force)
        return cli_fail(CLI_COULD_NOT,
                        "%s. Nothing was changed. If you are sure that nothing uses the database, "
                        "--force skips this check (%s)",
                        why, check);
    printf("--force: skipped: %s: %s\n", check, why);
    return CLI_DONE;
}

static enum cli_exit acquire_lock(struct restore *r)
{
    struct error error;
    if (database_lock_exclude(&r->lock, r->database, &error) == OK)
        return CLI_DONE;
    return refuse_or_skip(r, "the lock that keeps servers and commands away", error.text);
}

/* The lock keeps viewtally's processes away. This finds others, such as an sqlite3 shell, and writes
 * everything that is still in the log into the database. */
static enum cli_exit check_unused(const struct restore *r)
{
    struct error error;
    if (access(r->database, F_OK) != 0 || store_claim(r->database, &error) == OK)
        return CLI_DONE;
    return refuse_or_skip(r, "SQLite's own check that no other process uses the database", error.text);
}

/* The database that is being replaced: the one that is there, or the one that an interrupted restore has put
 * aside. Without either, the one of an earlier restore knows at least what was revoked until then. */
static const char *replaced_of(const struct replacement *r)
{
    return !r->is_missing ? r->path : r->before[0] ? r->before : NULL;
}

/* Event ids that were served after the backup must not be issued again. If the replaced database can be read,
 * it has the newest. Otherwise they are at most a little ahead of the clock: an id is a time in milliseconds
 * unless there are more than a thousand events a second for long. */
static enum err renew_draft(struct restore *r, struct error *error)
{
    const struct replacement *p = &r->replacement;
    const char *replaced = replaced_of(p);
    if (!replaced)
        (void)snprintf(r->carried.why, sizeof r->carried.why, "there is none");
    enum err err = store_renew(p->draft, clock_wall_ms() + DAY_MS, replaced, &r->carried, error);
    if (replaced && p->is_missing && !p->resumes && r->carried.is_complete) {
        r->carried.is_complete = false;
        (void)snprintf(r->carried.why, sizeof r->carried.why, "there is none, so %.400s was read", replaced);
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
        printf("The database of before is kept as %s\n", p->before);
    for (int i = 0; i < REPLACE_COMPANIONS; i++)
        if (p->moved[1 + i])
            printf("Its %s file is kept as %s%s\n", replace_companions[i], p->before, replace_companions[i]);
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

static enum cli_exit run_restore(struct cli *cli, int argc, char **argv)
{
    int count;
    struct restore r = {.database = cli->config.store.path, .lock.file.fd = -1};
    const struct cli_option options[] = {{"force", NULL, &r.force}, {0}};
    if (!cli_parse(argc, argv, options, 1, 1, &count))
        return CLI_USAGE;
    r.file = argv[1];
    if (access(r.file, R_OK) != 0)
        return cli_fail(CLI_COULD_NOT, "%s cannot be read: %s", r.file, strerror(errno));
    if (is_same_file(r.file, r.database))
        return cli_fail(CLI_USAGE, "%s is the database itself: name a backup", r.file);
    enum cli_exit code = acquire_lock(&r);
    if (code == CLI_DONE)
        code = check_unused(&r);
    if (code == CLI_DONE)
        code = replace(&r);
    database_lock_release(&r.lock);
    return code;
}

const struct cli_command cli_restore = {
    .name = "restore",
    .synopsis = "[--force] FILE",
    .summary = "put a backup in the database's place; the server must be stopped",
    .help =
        "Verifies FILE, brings it to this version's schema, and puts a copy of it in the database's "
        "place. The old\n"
        "database and its -wal, -shm and -journal files are kept beside it as DATABASE.before-TIME. The new "
        "one has\n"
        "their owner, group and permissions. No event id of before is ever issued again. What was revoked "
        "after "
        "the\n"
        "backup (keys, plans, apps, secrets, passwords, platform accounts) is carried over from the old "
        "database; if "
        "that\n"
        "cannot be read completely, everything that is valid now is listed with its id.\n\n"
        "If the restore is interrupted, the database may be missing; the server then refuses to start. Run "
        "the\n"
        "restore again.\n\n"
        "  --force   replace the database even if it cannot be made sure that nothing uses it: its lock file "
        "or its\n"
        "            own lock cannot be acquired, or it is damaged. A server that runs on would lose data",
    .run = run_restore,
};

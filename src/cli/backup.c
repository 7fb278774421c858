/* viewtally backup and viewtally restore: the database as one file, while the server runs, and back. */
#include "base/clock.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file being made beside where it shall stand. It gets its name when it is whole. */
struct draft {
    char path[PATH_MAX];
};

static enum cli_exit draft_begin(struct draft *d, const char *target)
{
    int n = snprintf(d->path, sizeof d->path, "%s.XXXXXX", target);
    int fd = n < 0 || (size_t)n >= sizeof d->path ? -1 : mkstemp(d->path);
    if (fd < 0)
        return cli_fail(CLI_COULD_NOT, "%s: a file cannot be made there: %s", target, strerror(errno));
    (void)close(fd);
    return CLI_DONE;
}

static bool sync_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

static bool sync_directory_of(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    (void)snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return sync_path(dir);
}

/* On disk under its name, or not at all. */
static enum cli_exit draft_publish(const struct draft *d, const char *target)
{
    if (sync_path(d->path) && rename(d->path, target) == 0 && sync_directory_of(target))
        return CLI_DONE;
    return cli_fail(CLI_COULD_NOT, "%s: %s", target, strerror(errno));
}

static enum cli_exit failed(const char *why)
{
    return cli_fail(CLI_COULD_NOT, "%s", why);
}

/* ---- backup ---- */

/* Whether target is the database or a file that belongs to it, under whatever name. */
static bool is_of_database(const char *target, const char *database)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-import"};
    char resolved[PATH_MAX], path[PATH_MAX + 8];
    struct stat wanted, taken;
    if (stat(target, &wanted) != 0 || !realpath(database, resolved))
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        (void)snprintf(path, sizeof path, "%s%s", resolved, endings[i]);
        if (stat(path, &taken) == 0 && taken.st_dev == wanted.st_dev && taken.st_ino == wanted.st_ino)
            return true;
    }
    return false;
}

static enum cli_exit make_backup(const char *database, const struct draft *d, const char *target)
{
    const char *why = "";
    if (store_copy(database, d->path, &why) || store_verify(d->path, &why))
        return failed(why);
    return draft_publish(d, target);
}

static enum cli_exit run_backup(struct cli *cli, int argc, char **argv)
{
    int count;
    struct draft draft;
    if (!cli_parse(argc, argv, NULL, 1, 1, &count))
        return CLI_USAGE;
    if (is_of_database(argv[1], cli->config.store.path))
        return cli_fail(CLI_USAGE, "%s belongs to the database itself: name another file", argv[1]);
    enum cli_exit code = draft_begin(&draft, argv[1]);
    if (code)
        return code;
    code = make_backup(cli->config.store.path, &draft, argv[1]);
    if (code)
        (void)unlink(draft.path);
    else
        printf("%s: complete and verified\n", argv[1]);
    return code;
}

const struct cli_command cli_backup = {
    .name = "backup",
    .synopsis = "FILE",
    .summary = "copy the database into FILE while the server runs",
    .help = "Copies the database as it is at one moment, verifies every page of the copy, and only then "
            "gives it the name\n"
            "FILE (which it replaces). The server and imports go on meanwhile.",
    .run = run_backup,
};

/* ---- restore ---- */

/* Ids of events that were served after the backup must not come again. Where the old database can still be
 * read it knows them; else they are at most a little ahead of the clock, for an id is a time in milliseconds
 * unless there are more than a thousand events a second for long. */
static int64_t event_floor(const char *database)
{
    const char *why;
    int64_t newest = 0;
    int64_t floor = clock_wall_ms() + DAY_MS;
    if (access(database, F_OK) == 0 && store_newest_event_id(database, &newest, &why) == OK && newest > floor)
        floor = newest;
    return floor;
}

static enum cli_exit keep_old(const char *database, char kept[PATH_MAX])
{
    const char *why = "";
    if (access(database, F_OK) != 0)
        return CLI_DONE;
    if (store_claim(database, &why) == ERR_BUSY)
        return failed(why);
    int n = snprintf(kept, PATH_MAX, "%s.before-%lld", database, (long long)(clock_wall_ms() / SECOND_MS));
    if (n < 0 || n >= PATH_MAX || rename(database, kept) != 0)
        return cli_fail(CLI_COULD_NOT, "%s: cannot be put aside: %s", database, strerror(errno));
    return CLI_DONE;
}

static enum cli_exit make_restored(const char *file, const char *database, const struct draft *d)
{
    const char *why = "";
    char kept[PATH_MAX] = "";
    int applied;
    if (store_copy(file, d->path, &why) || store_verify(d->path, &why) ||
        store_migrate(d->path, &applied, &why) || store_renew(d->path, event_floor(database), &why))
        return failed(why);
    enum cli_exit code = keep_old(database, kept);
    if (code)
        return code;
    code = draft_publish(d, database);
    if (code == CLI_DONE && *kept)
        printf("what was there is kept as %s\n", kept);
    else if (*kept)
        (void)rename(kept, database);
    return code;
}

static enum cli_exit run_restore(struct cli *cli, int argc, char **argv)
{
    int count;
    struct draft draft;
    const char *database = cli->config.store.path;
    if (!cli_parse(argc, argv, NULL, 1, 1, &count))
        return CLI_USAGE;
    if (access(argv[1], R_OK) != 0)
        return cli_fail(CLI_COULD_NOT, "%s cannot be read: %s", argv[1], strerror(errno));
    enum cli_exit code = draft_begin(&draft, database);
    if (code)
        return code;
    code = make_restored(argv[1], database, &draft);
    if (code)
        (void)unlink(draft.path);
    else
        printf("%s: restored from %s\n", database, argv[1]);
    return code;
}

const struct cli_command cli_restore = {
    .name = "restore",
    .synopsis = "FILE",
    .summary = "put a backup in the database's place; the server must be stopped",
    .help = "Verifies FILE, brings it to this version's schema, and puts a copy of it in the database's "
            "place. What was there\n"
            "is kept beside it under another name. No event id of before is ever given out again.",
    .run = run_restore,
};

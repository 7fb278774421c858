/* viewtally backup: the database as one file, while the server runs. The way back is restore.c. */
#include "base/file_owner.h"
#include "base/file_sync.h"
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
    /* A backup that is replaced keeps its owner; a new one belongs to whoever makes it. */
    struct file_owner owner;
    if (access(target, F_OK) == 0 && file_owner_of(target, &owner) && owner.has_mode)
        (void)file_owner_apply(fd, &owner);
    (void)close(fd);
    return CLI_DONE;
}

/* On disk under its name, or not at all. */
static enum cli_exit draft_publish(const struct draft *d, const char *target)
{
    if (file_sync(d->path) && rename(d->path, target) == 0 && file_sync_directory_of(target))
        return CLI_DONE;
    return cli_fail(CLI_COULD_NOT, "%s: %s", target, strerror(errno));
}

/* Whether target is the database or a file that belongs to it, under whatever name. */
static bool is_of_database(const char *target, const char *database)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-import", "-lock"};
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
    struct error error;
    if (store_copy(database, d->path, &error) || store_verify(d->path, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
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
    if (!cli_lock_database(cli, false))
        return CLI_COULD_NOT;
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

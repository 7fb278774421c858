/* viewtally backup: copies the database while the server runs. `viewtally restore` restores the copy. */
#include "base/file_owner.h"
#include "base/file_sync.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A temporary file beside the target, which is renamed to the target when it is complete. */
struct draft {
    char path[PATH_MAX];
};

static enum cli_exit draft_begin(struct draft *d, const char *target)
{
    int n = snprintf(d->path, sizeof d->path, "%s.XXXXXX", target);
    int fd = n < 0 || (size_t)n >= sizeof d->path ? -1 : mkstemp(d->path);
    if (fd < 0)
        return cli_fail(CLI_COULD_NOT, "%s: cannot create a file in this directory: %s", target,
                        strerror(errno));
    /* Replacing a backup keeps the owner and mode of the old file. */
    struct file_owner owner;
    if (access(target, F_OK) == 0 && file_owner_of(target, &owner) && owner.has_mode)
        (void)file_owner_apply(fd, &owner);
    (void)close(fd);
    return CLI_DONE;
}

/* Returns true if the target is the database or one of its companion files, even if the target is a link to
 * it. */
static bool is_of_database(const char *target, const char *database)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-import", "-lock"};
    char resolved[PATH_MAX], path[PATH_MAX + 8];
    struct stat target_stat, file_stat;
    if (stat(target, &target_stat) != 0 || !realpath(database, resolved))
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        (void)snprintf(path, sizeof path, "%s%s", resolved, endings[i]);
        if (stat(path, &file_stat) == 0 && file_stat.st_dev == target_stat.st_dev &&
            file_stat.st_ino == target_stat.st_ino)
            return true;
    }
    return false;
}

static enum cli_exit make_backup(const char *database, const struct draft *d, const char *target)
{
    struct error error;
    if (store_copy(database, d->path, &error) || store_verify(d->path, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    /* Syncs, then renames, so that after a crash the target is either the complete copy or unchanged. */
    if (file_sync(d->path) && rename(d->path, target) == 0 && file_sync_directory_of(target))
        return CLI_DONE;
    return cli_fail(CLI_COULD_NOT, "%s: %s", target, strerror(errno));
}

static enum cli_exit run_backup(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *target = arguments->operands[0];
    struct draft draft;
    if (is_of_database(target, cli->config.store.path))
        return cli_fail(CLI_USAGE, "%s belongs to the database itself: choose another file", target);
    if (!cli_lock_database(cli, false))
        return CLI_COULD_NOT;
    enum cli_exit code = draft_begin(&draft, target);
    if (code)
        return code;
    code = make_backup(cli->config.store.path, &draft, target);
    if (code)
        (void)unlink(draft.path);
    else
        printf("%s: complete and verified\n", target);
    return code;
}

static const struct cli_action actions[] = {
    {.operands = "FILE",
     .operands_min = 1,
     .operands_max = 1,
     .description = "Copies a consistent snapshot of the database, verifies every page of the copy, and then "
                    "renames the copy to FILE. An existing FILE is replaced. The server and imports may "
                    "keep running.",
     .examples = "viewtally backup /var/backups/viewtally.db",
     .run = run_backup},
    {0},
};

const struct cli_command cli_backup = {
    .name = "backup",
    .summary = "copy the database to a file while the server runs",
    .actions = actions,
};

/* viewtally author export. An export is always written to a temporary file first, even if it goes to standard
 * output. Otherwise a slow reader of the output would keep the snapshot of the database open. */
#include "cli/cmd_author_export.h"

#include "base/file_sync.h"
#include "base/plural.h"
#include "cli/database.h"
#include "cli/named_author.h"
#include "cli/output.h"
#include "cli/std_stream.h"
#include "import/author_export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct author_file_export {
    const char *named; /* the operand AUTHOR: an id or a sign-in name */
    struct author author;
    int fd;
    int write_errno; /* 0: no write has failed */
    struct export_summary summary;
};

static enum err write_part(void *ctx, struct str bytes)
{
    struct author_file_export *e = ctx;
    while (bytes.len) {
        const ssize_t n = write(e->fd, bytes.p, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            e->write_errno = n ? errno : ENOSPC;
            return ERR_CANCELED; /* the caller prints the reason */
        }
        bytes = str_make(bytes.p + n, bytes.len - (size_t)n);
    }
    return OK;
}

static enum err run_export(struct store *store, struct arena *arena, void *ctx)
{
    struct author_file_export *e = ctx;
    enum err err = named_author_find(store, arena, e->named, &e->author);
    return err ? err : export_author(store, &e->author.id, write_part, e, &e->summary);
}

/* Writes the export to the open file `e->fd` and closes it. `path` is only for messages. */
static enum cli_exit write_file(struct cli *cli, struct author_file_export *e, const char *path)
{
    enum err err = cli_read(cli, run_export, e);
    if (!err && fsync(e->fd) != 0)
        e->write_errno = errno;
    if (close(e->fd) != 0 && !e->write_errno)
        e->write_errno = errno;
    if (e->write_errno)
        return cli_fail(CLI_COULD_NOT, "%s: %s", path, strerror(e->write_errno));
    return !err ? CLI_DONE : err == ERR_NOT_FOUND ? named_author_print_not_found() : CLI_COULD_NOT;
}

/* ---- to standard output ---- */

static enum cli_exit export_to_stdout(struct cli *cli, struct author_file_export *e)
{
    char path[FILE_PATH_MAX];
    enum cli_exit code = std_stream_create_file(cli, path);
    if (code)
        return code;
    e->fd = open(path, O_WRONLY | O_CLOEXEC);
    code = e->fd < 0 ? cli_fail(CLI_COULD_NOT, "%s: %s", path, strerror(errno)) : write_file(cli, e, path);
    if (!code)
        return std_stream_print_file(path);
    (void)unlink(path);
    return code;
}

/* ---- to a file ---- */

static enum cli_exit refuse_existing(const char *path)
{
    return cli_fail(CLI_PART, "%s already exists, and nothing was written: name a new file", path);
}

/* Renames the temporary file. Fails with EEXIST if a file with the new name exists. */
static bool publish(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS) /* the file system does not support RENAME_NOREPLACE */
        return false;
    struct stat st;
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(from, to) == 0;
}

static enum cli_exit print_summary(const struct author_file_export *e, const char *path)
{
    const struct export_summary *s = &e->summary;
    struct buf out;
    buf_init(&out, 64 * 1024);
    buf_append(&out, STR("Exported author "));
    cli_append_uuid(&out, &e->author.id);
    buf_append(&out, STR(" to "));
    cli_append_text(&out, str_from_cstr(path));
    buf_printf(&out, ": %lld book%s, %lld video%s, %lld event%s, %lld key%s.\n", (long long)s->books,
               plural(s->books, "", "s"), (long long)s->videos, plural(s->videos, "", "s"),
               (long long)s->events, plural(s->events, "", "s"), (long long)s->keys,
               plural(s->keys, "", "s"));
    return cli_print(&out);
}

static enum cli_exit export_to_file(struct cli *cli, struct author_file_export *e, const char *path)
{
    char resolved[FILE_PATH_MAX], temporary[FILE_PATH_MAX + 16];
    struct error error;
    const enum err err = file_target_resolve(path, resolved, &error);
    if (err)
        return cli_fail(err == ERR_INVALID ? CLI_USAGE : CLI_COULD_NOT, "%s", error.text);
    if (access(resolved, F_OK) == 0)
        return refuse_existing(path);
    (void)snprintf(temporary, sizeof temporary, "%s.XXXXXX", resolved);
    e->fd = mkostemp(temporary, O_CLOEXEC); /* creates the file with mode 0600 */
    if (e->fd < 0)
        return cli_fail(CLI_COULD_NOT, "%s: %s", path, strerror(errno));
    enum cli_exit code = write_file(cli, e, path);
    if (!code && !publish(temporary, resolved))
        code = errno == EEXIST ? refuse_existing(path)
                               : cli_fail(CLI_COULD_NOT, "%s: %s", path, strerror(errno));
    if (code) {
        (void)unlink(temporary);
        return code;
    }
    if (!file_sync_directory_of(resolved))
        return cli_fail(CLI_COULD_NOT, "%s is complete, but its directory cannot be synced: %s", path,
                        strerror(errno));
    return print_summary(e, path);
}

enum cli_exit author_export(struct cli *cli, const struct cli_arguments *arguments)
{
    struct author_file_export e = {.named = arguments->operands[0]};
    const char *path = arguments->operands[1];
    return strcmp(path, "-") == 0 ? export_to_stdout(cli, &e) : export_to_file(cli, &e, path);
}

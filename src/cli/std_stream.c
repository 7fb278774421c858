/* Copies between files and the standard streams. */
#include "cli/std_stream.h"

#include "base/file_write.h"
#include "cli/output.h"
#include "store/database_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 16 };

static bool name_file(const struct cli *cli, char path[FILE_PATH_MAX])
{
    char copy[DATABASE_FILE_PATH_MAX];
    const char *chosen = getenv("TMPDIR");
    if (!chosen || !*chosen)
        chosen = database_directory(copy, cli->config.store.path);
    const int n = snprintf(path, FILE_PATH_MAX, "%s/.viewtally-backup-XXXXXX", chosen);
    errno = ENAMETOOLONG;
    return n > 0 && n < FILE_PATH_MAX;
}

static enum cli_exit cannot_create(const char *path)
{
    return cli_fail(CLI_COULD_NOT, "cannot create %s: %s ($TMPDIR selects another directory)", path,
                    strerror(errno));
}

enum cli_exit std_stream_create_file(const struct cli *cli, char path[FILE_PATH_MAX])
{
    const int fd = name_file(cli, path) ? mkstemp(path) : -1;
    if (fd < 0)
        return cannot_create(path);
    (void)close(fd);
    return CLI_DONE;
}

enum cli_exit std_stream_create_directory(const struct cli *cli, char path[FILE_PATH_MAX])
{
    return name_file(cli, path) && mkdtemp(path) ? CLI_DONE : cannot_create(path);
}

/* Returns the number of copied bytes, or -1 with errno set. */
static int64_t copy_bytes(int from, int to)
{
    char chunk[CHUNK];
    int64_t total = 0;
    for (;;) {
        const ssize_t n = read(from, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (n > 0 && !file_write_all(to, chunk, (size_t)n)))
            return -1;
        if (n == 0)
            return total;
        total += n;
    }
}

enum cli_exit std_stream_copy_file(const char *from, const char *to)
{
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return cli_fail(CLI_COULD_NOT, "cannot read %s: %s", from, strerror(errno));
    const int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const bool copied = out >= 0 && copy_bytes(in, out) >= 0;
    const bool ok = file_close(out, copied);
    const int code = errno;
    (void)close(in);
    return ok ? CLI_DONE : cli_fail(CLI_COULD_NOT, "cannot copy %s to %s: %s", from, to, strerror(code));
}

enum cli_exit std_stream_save_input(const struct cli *cli, char path[FILE_PATH_MAX])
{
    if (isatty(STDIN_FILENO))
        return cli_fail(CLI_USAGE, "standard input is a terminal: redirect a backup to it");
    const enum cli_exit code = std_stream_create_file(cli, path);
    if (code)
        return code;
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const int64_t n = fd < 0 ? -1 : copy_bytes(STDIN_FILENO, fd);
    const bool ok = file_close(fd, n >= 0);
    const int failed = errno;
    if (ok && n > 0)
        return CLI_DONE;
    (void)unlink(path);
    return ok ? cli_fail(CLI_PART, "standard input is empty: nothing was changed")
              : cli_fail(CLI_COULD_NOT, "cannot copy standard input to %s: %s", path, strerror(failed));
}

enum cli_exit std_stream_print_file(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int code = errno;
    (void)unlink(path);
    if (fd < 0)
        return cli_fail(CLI_COULD_NOT, "cannot read %s: %s", path, strerror(code));
    const bool ok = copy_bytes(fd, STDOUT_FILENO) >= 0;
    const int failed = errno;
    (void)close(fd);
    return ok ? CLI_DONE : cli_fail(CLI_COULD_NOT, "standard output cannot be written: %s", strerror(failed));
}

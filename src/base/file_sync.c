/* Calls fsync(2), for which a descriptor that is open for reading is enough. */
#include "base/file_sync.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

bool file_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

bool file_sync_directory_of(const char *path)
{
    char copy[PATH_MAX]; /* dirname(3) changes it */
    (void)snprintf(copy, sizeof copy, "%s", path);
    return file_sync(dirname(copy));
}

/* flock(2) on a file of its own. Never on the database: closing any descriptor of that would take SQLite's
 * own locks away. */
#include "refresh/import_lock.h"

#include "base/check.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MODE = 0640 };

enum err import_lock_open(struct import_lock *l, const char *path)
{
    char name[PATH_BYTES];
    int n = snprintf(name, sizeof name, "%s-import", path);
    errno = ENAMETOOLONG;
    l->fd = n < 0 || (size_t)n >= sizeof name ? -1 : open(name, O_RDWR | O_CREAT | O_CLOEXEC, MODE);
    if (l->fd >= 0)
        return OK;
    log_error("%s-import: %s", path, strerror(errno));
    return errno == EROFS || errno == EACCES ? ERR_READONLY : errno == ENOSPC ? ERR_FULL : ERR_IO;
}

void import_lock_close(struct import_lock *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}

static bool lock(const struct import_lock *l, int operation)
{
    int code;
    CHECK(l->fd >= 0);
    do
        code = flock(l->fd, operation);
    while (code < 0 && errno == EINTR);
    return code == 0;
}

enum err import_lock_share(struct import_lock *l)
{
    if (lock(l, LOCK_SH))
        return OK;
    log_error("the lock of imports: %s", strerror(errno));
    return ERR_IO;
}

/* The share is given up first: of two imports that end together, the later one then finds the way free. */
bool import_lock_take(struct import_lock *l)
{
    return lock(l, LOCK_UN) && lock(l, LOCK_EX | LOCK_NB);
}

/* The lock is on a file of its own: closing any descriptor of the database file would release SQLite's locks.
 */
#include "import/import_lock.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

enum err import_lock_open(struct import_lock *l, const char *path)
{
    char name[PATH_BYTES];
    int n = snprintf(name, sizeof name, "%s-import", path);
    l->file.fd = -1;
    errno = ENAMETOOLONG;
    if (n > 0 && (size_t)n < sizeof name && file_lock_open(&l->file, name, path))
        return OK;
    log_error("%s-import: %s", path, strerror(errno));
    return errno == EROFS || errno == EACCES ? ERR_READONLY : errno == ENOSPC ? ERR_FULL : ERR_IO;
}

void import_lock_close(struct import_lock *l)
{
    file_lock_close(&l->file);
}

enum err import_lock_share(struct import_lock *l)
{
    if (file_lock_set(&l->file, FILE_LOCK_SHARED, true))
        return OK;
    log_error("cannot acquire the import lock: %s", strerror(errno));
    return ERR_IO;
}

/* Releases first, so that of two imports that end at the same time, the later one finds the lock free. */
bool import_lock_try_exclusive(struct import_lock *l)
{
    return file_lock_set(&l->file, FILE_LOCK_NONE, true) &&
           file_lock_set(&l->file, FILE_LOCK_EXCLUSIVE, false);
}

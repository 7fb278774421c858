/* The import lock is a lock on the empty file <database>-import, which is created if it does not exist and is
 * never removed. The lock is not on the database file, because closing any descriptor of that file would
 * release SQLite's locks. */
#include "store/sqlite/sqlite_store.h"

#include "base/log.h"
#include "store/database_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static enum err lock_error(void)
{
    return errno == EROFS || errno == EACCES ? ERR_READONLY : errno == ENOSPC ? ERR_FULL : ERR_IO;
}

static enum err open_lock(struct sqlite_store *s)
{
    char name[DATABASE_FILE_PATH_MAX];
    if (s->import_lock.fd >= 0)
        return OK;
    if (database_file_path(name, s->path, "-import") && file_lock_open(&s->import_lock, name, s->path))
        return OK;
    const enum err err = lock_error();
    log_error("%s-import: %s", s->path, strerror(errno));
    return err;
}

enum err sqlite_share_import_lock(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    const enum err err = open_lock(s);
    if (err || file_lock_set(&s->import_lock, FILE_LOCK_SHARED, true))
        return err;
    log_error("cannot acquire the import lock: %s", strerror(errno));
    return ERR_IO;
}

/* Releases the shared lock before it tries to acquire the exclusive lock, because a failed conversion may or
 * may not keep the shared lock (file_lock.h). So of two imports that end at the same time, at least one
 * acquires the exclusive lock. */
enum err sqlite_try_import_lock(struct store *store, bool *acquired)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    const enum err err = open_lock(s);
    *acquired = !err && file_lock_set(&s->import_lock, FILE_LOCK_NONE, true) &&
                file_lock_set(&s->import_lock, FILE_LOCK_EXCLUSIVE, false);
    return err;
}

void sqlite_release_import_lock(struct store *store)
{
    file_lock_close(&((struct sqlite_store *)store)->import_lock);
}

/* See database_lock.h. */
#include "store/database_lock.h"

#include "store/db.h"
#include "store/replace.h"
#include "store/diagnosis.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static enum err err_of(int code)
{
    switch (code) {
    case EWOULDBLOCK: return ERR_BUSY;
    case EACCES:
    case EPERM:
    case EROFS: return ERR_READONLY;
    case ENOSPC:
    case EDQUOT: return ERR_FULL;
    default: return ERR_IO;
    }
}

static const char *cure_of(int code)
{
    switch (code) {
    case EACCES:
    case EPERM: return "run the command as the database's owner, or as root";
    case EROFS: return "mount its file system writable";
    case ENOSPC:
    case EDQUOT: return "free some disk space";
    case ENOLCK:
    case EOPNOTSUPP: return "keep the database on a local file system, which supports locks";
    default: return "check the file and its directory";
    }
}

static enum err acquire(struct database_lock *l, const char *path, enum file_lock_mode mode, const char **why)
{
    char resolved[DATABASE_PATH_MAX], file[DATABASE_PATH_MAX + 8];
    l->file.fd = -1;
    if (!database_path_resolve(path, resolved)) {
        *why = db_sentence("the database %s: %s", path, strerror(errno));
        return ERR_IO;
    }
    (void)snprintf(file, sizeof file, "%s-lock", resolved);
    bool opened = file_lock_open(&l->file, file, resolved);
    if (opened && file_lock_set(&l->file, mode, false))
        return OK;
    int code = errno;
    file_lock_close(&l->file);
    *why = db_sentence("the lock file %s cannot be %s: %s (%s)", file, opened ? "locked" : "opened",
                       strerror(code), cure_of(code));
    return err_of(code);
}

enum err database_lock_share(struct database_lock *l, const char *path, bool creates, const char **why)
{
    l->file.fd = -1;
    enum err err = why_bad_path(path, why);
    if (err == ERR_NOT_FOUND && creates)
        err = why_bad_directory(path, why);
    if (err)
        return err;
    err = acquire(l, path, FILE_LOCK_SHARED, why);
    if (err == ERR_BUSY)
        *why = db_sentence(
            "the database %s is being restored: try again when `viewtally restore` has finished", path);
    return err;
}

enum err database_lock_exclude(struct database_lock *l, const char *path, const char **why)
{
    enum err err = acquire(l, path, FILE_LOCK_EXCLUSIVE, why);
    if (err == ERR_BUSY)
        *why = db_sentence(
            "the database %s is in use: stop the server and all other viewtally commands first", path);
    return err;
}

void database_lock_release(struct database_lock *l)
{
    file_lock_close(&l->file);
}

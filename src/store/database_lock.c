/* The lock file of a database. */
#include "store/database_lock.h"

#include "store/diagnosis.h"
#include "store/replace.h"

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

static enum err acquire(struct database_lock *l, const char *path, enum file_lock_mode mode,
                        struct error *error)
{
    char resolved[DATABASE_PATH_MAX], file[DATABASE_PATH_MAX + 8];
    l->file.fd = -1;
    if (!database_path_resolve(path, resolved))
        return error_set(error, ERR_IO, "the database %s: %s", path, strerror(errno));
    (void)snprintf(file, sizeof file, "%s-lock", resolved);
    bool opened = file_lock_open(&l->file, file, resolved);
    if (opened && file_lock_set(&l->file, mode, false))
        return OK;
    int code = errno;
    file_lock_close(&l->file);
    return error_set(error, err_of(code), "cannot %s the lock file %s: %s (%s)", opened ? "lock" : "open",
                     file, strerror(code), cure_of(code));
}

enum err database_lock_share(struct database_lock *l, const char *path, bool creates, struct error *error)
{
    l->file.fd = -1;
    enum err err = diagnose_path(path, error);
    if (err == ERR_NOT_FOUND && creates)
        err = diagnose_directory(path, error);
    if (err)
        return err;
    err = acquire(l, path, FILE_LOCK_SHARED, error);
    if (err == ERR_BUSY)
        error_set(error, err,
                  "the database %s is being restored: try again when `viewtally restore` has finished", path);
    return err;
}

enum err database_lock_exclude(struct database_lock *l, const char *path, struct error *error)
{
    enum err err = acquire(l, path, FILE_LOCK_EXCLUSIVE, error);
    if (err == ERR_BUSY)
        error_set(error, err,
                  "the database %s is in use: stop the server and all other viewtally commands first", path);
    return err;
}

void database_lock_release(struct database_lock *l)
{
    file_lock_close(&l->file);
}

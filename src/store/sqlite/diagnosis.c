/* Explains errors of a database to an operator. Examines the file system if the error code does not show the
 * cause. */
#include "store/sqlite/diagnosis.h"

#include "store/sqlite/migrations.h"
#include "store/replace.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the directory of the file `path`. The text is stored in `copy`. */
static const char *directory_of(const char *path, char copy[PATH_MAX])
{
    (void)snprintf(copy, PATH_MAX, "%s", path);
    return dirname(copy);
}

enum err diagnose_directory(const char *path, struct error *error)
{
    struct stat st;
    char copy[PATH_MAX];
    const char *dir = directory_of(path, copy);
    if (stat(dir, &st) != 0)
        return error_set(error, ERR_NOT_FOUND, "cannot access the directory %s of the database: %s", dir,
                         strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return error_set(error, ERR_NOT_FOUND, "%s, which should hold the database, is not a directory", dir);
    return OK;
}

static enum err diagnose_missing(const char *path, struct error *error)
{
    char here[PATH_MAX], before[PATH_MAX] = "";
    bool has_before = database_find_replaced(path, before, sizeof before);
    if (database_replace_was_interrupted(path))
        return error_set(error, ERR_NOT_FOUND,
                         "the database %s does not exist because a restore was interrupted: run `viewtally "
                         "restore FILE` again, or undo the restore by renaming %s (and its -wal file, if "
                         "there is one) to %s",
                         path, before, path);
    if (has_before)
        return error_set(
            error, ERR_NOT_FOUND,
            "the database %s does not exist: check that its volume is mounted. To return to the database "
            "that the last restore replaced, rename %s (and its -wal file, if there is one) to %s",
            path, before, path);
    /* A relative path depends on the current directory, so show it. */
    bool is_relative = path[0] != '/' && getcwd(here, sizeof here);
    return error_set(error, ERR_NOT_FOUND,
                     "the database %s%s%s does not exist: check the path and that its volume is mounted; "
                     "for a new service, create it with `viewtally migrate`",
                     is_relative ? here : "", is_relative ? "/" : "", path);
}

enum err diagnose_path(const char *path, struct error *error)
{
    struct stat st;
    if (!path[0] || path[0] == ':')
        return error_set(error, ERR_INVALID, "the database must be a file, not \"%s\"", path);
    if (stat(path, &st) == 0) {
        if (S_ISREG(st.st_mode))
            return OK;
        return error_set(error, ERR_INVALID, "the database must be a regular file, but %s is not", path);
    }
    int code = errno;
    enum err err = diagnose_directory(path, error);
    if (err)
        return err;
    if (code == ENOENT)
        return diagnose_missing(path, error);
    return error_set(error, ERR_NOT_FOUND, "the database %s: %s", path, strerror(code));
}

/* Explains that the file or its directory is not writable. Returns false if both are writable. */
static bool diagnose_unwritable(enum err err, const char *path, struct error *error)
{
    char copy[PATH_MAX];
    const char *dir = directory_of(path, copy);
    if (access(path, W_OK) != 0)
        error_set(error, err, "the database %s is not writable: %s", path, strerror(errno));
    else if (access(dir, W_OK) != 0)
        error_set(error, err,
                  "the directory %s is not writable, but SQLite creates the write-ahead log in it: %s", dir,
                  strerror(errno));
    else
        return false;
    return true;
}

enum err diagnose_failure(enum err err, const char *path, struct error *error)
{
    switch (err) {
    case ERR_BUSY: return error_set(error, err, "the database %s is locked by another process", path);
    case ERR_FULL: return error_set(error, err, "no space left on the disk of %s", path);
    case ERR_NOMEM: return error_set(error, err, "out of memory while using the database %s", path);
    case ERR_CORRUPT: return error_set(error, err, "%s is not a database, or it is damaged", path);
    case ERR_READONLY:
        if (diagnose_unwritable(err, path, error))
            return err;
        return error_set(error, err, "the database %s is read-only", path);
    case ERR_IO:
        if (diagnose_unwritable(err, path, error))
            return err;
        return error_set(error, err, "the database %s cannot be read or written", path);
    case ERR_INTERNAL:
        return error_set(error, err, "the schema of %s does not match its schema version", path);
    default: return error_set(error, err, "the database %s: %s", path, err_name(err));
    }
}

enum err diagnose_empty(const char *path, struct error *error)
{
    return error_set(error, ERR_VERSION,
                     "the database %s is empty: restore a backup with `viewtally restore`, or, for a new "
                     "service, create the tables with `viewtally migrate`",
                     path);
}

enum err diagnose_foreign(const char *path, struct error *error)
{
    return error_set(error, ERR_CORRUPT, "%s is an SQLite database of another program", path);
}

enum err diagnose_newer(const char *path, const struct schema_identity *identity, struct error *error)
{
    return error_set(
        error, ERR_VERSION,
        "%s has schema version %lld, newer than version %d of this binary, which cannot use it: "
        "install the newer viewtally again, or restore a backup that was made before the upgrade",
        path, (long long)identity->version, schema_migration_count);
}

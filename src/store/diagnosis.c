/* Sentences for the operator. Looks at the file system where SQLite's codes do not say what is wrong. */
#include "store/diagnosis.h"

#include "store/db.h"
#include "store/migrations.h"
#include "store/replace.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory that the file is in; in the thread's own buffer. */
static const char *directory_of(const char *path)
{
    static _Thread_local char copy[4096];
    (void)snprintf(copy, sizeof copy, "%s", path);
    return dirname(copy);
}

enum err why_bad_directory(const char *path, const char **why)
{
    struct stat st;
    const char *dir = directory_of(path);
    if (stat(dir, &st) != 0) {
        *why = db_sentence("the directory %s of the database: %s", dir, strerror(errno));
        return ERR_NOT_FOUND;
    }
    if (!S_ISDIR(st.st_mode)) {
        *why = db_sentence("%s, where the database should be, is not a directory", dir);
        return ERR_NOT_FOUND;
    }
    return OK;
}

/* Of a relative path it matters where the command was started. */
const char *why_interrupted_restore(const char *path)
{
    char before[4096] = "";
    (void)replace_find_before(path, before, sizeof before);
    return db_sentence(
        "the database %s does not exist because a restore was interrupted: run `viewtally restore "
        "FILE` again, or undo it: rename %s (and -wal, if it is there) back to it",
        path, before);
}

static const char *why_missing(const char *path)
{
    char here[4096];
    char before[4096];
    bool tells = path[0] != '/' && getcwd(here, sizeof here);
    if (replace_was_interrupted(path))
        return why_interrupted_restore(path);
    if (replace_find_before(path, before, sizeof before))
        return db_sentence(
            "the database %s does not exist: check that its volume is mounted, or rename %s (and "
            "-wal, if it is there), which a restore has put aside, back to it",
            path, before);
    return db_sentence("the database %s%s%s does not exist: check the path and that its volume is mounted; "
                       "only for a new service, `viewtally migrate` creates it",
                       tells ? here : "", tells ? "/" : "", path);
}

enum err why_bad_path(const char *path, const char **why)
{
    struct stat st;
    if (!path[0] || path[0] == ':') {
        *why = db_sentence("the database must be a file, not \"%s\"", path);
        return ERR_INVALID;
    }
    if (stat(path, &st) == 0) {
        if (S_ISREG(st.st_mode))
            return OK;
        *why = db_sentence("the database must be a file, and %s is none", path);
        return ERR_INVALID;
    }
    int missing = errno;
    enum err err = why_bad_directory(path, why);
    if (err)
        return err;
    if (missing == ENOENT)
        *why = why_missing(path);
    else
        *why = db_sentence("the database %s: %s", path, strerror(missing));
    return ERR_NOT_FOUND;
}

static const char *why_unwritable(const char *path)
{
    if (access(path, W_OK) != 0)
        return db_sentence("the database %s may not be written: %s", path, strerror(errno));
    const char *dir = directory_of(path);
    if (access(dir, W_OK) != 0)
        return db_sentence(
            "the directory %s may not be written, and SQLite keeps its log beside the database: %s", dir,
            strerror(errno));
    return NULL;
}

const char *why_of(enum err err, const char *path)
{
    const char *unwritable;
    switch (err) {
    case ERR_BUSY: return db_sentence("the database %s is locked by another process", path);
    case ERR_FULL: return db_sentence("no room on the disk for the database %s", path);
    case ERR_NOMEM: return db_sentence("out of memory while opening the database %s", path);
    case ERR_CORRUPT: return db_sentence("%s is not a database, or it is damaged", path);
    case ERR_READONLY:
    case ERR_IO:
        unwritable = why_unwritable(path);
        if (unwritable)
            return unwritable;
        return db_sentence(err == ERR_READONLY ? "the database %s is read-only"
                                               : "the database %s cannot be read or written",
                           path);
    case ERR_INTERNAL: return db_sentence("%s does not have the schema that its version promises", path);
    default: return db_sentence("the database %s: %s", path, err_name(err));
    }
}

const char *why_empty(const char *path)
{
    return db_sentence("the database %s is empty: restore a backup with `viewtally restore`; only for a new "
                       "service, `viewtally migrate` creates it",
                       path);
}

const char *why_foreign(const char *path)
{
    return db_sentence("%s is an SQLite database of another program", path);
}

const char *why_newer(const char *path, int64_t version)
{
    return db_sentence(
        "%s has schema version %lld, newer than the %d of this binary: use the newer viewtally", path,
        (long long)version, schema_migration_count);
}

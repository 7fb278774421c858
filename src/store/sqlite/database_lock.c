/* Implements database_lock.h with a lock file (base/file_lock.h). */
#include "store/database_lock.h"

#include "base/clock.h"
#include "store/sqlite/diagnosis.h"
#include "store/replace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EXCLUDE_TIMEOUT_MS = 3000, MIGRATION_TIMEOUT_MS = 30000, POLL_MS = 20 };

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

/* Reports that the lock file cannot be opened or locked. If the user owns the database but may not open the
 * lock file, the file belongs to another user, for example because a program has copied it. */
static enum err fail_lock(const char *verb, const char *database, const char *file, int code,
                          struct error *error)
{
    struct stat st;
    const bool owns_database = stat(database, &st) == 0 && st.st_uid == geteuid();
    if (code == EACCES && owns_database && access(file, F_OK) == 0)
        return error_set(error, err_of(code),
                         "cannot %s the lock file %s: %s (as root, run chown --reference=%s %s)", verb, file,
                         strerror(code), database, file);
    return error_set(error, err_of(code), "cannot %s the lock file %s: %s (%s)", verb, file, strerror(code),
                     cure_of(code));
}

static enum err acquire(struct database_lock *l, const char *path, enum file_lock_mode mode,
                        struct error *error)
{
    char resolved[DATABASE_PATH_MAX], file[DATABASE_PATH_MAX + 8];
    l->file.fd = -1;
    if (!file_resolve_path(path, resolved))
        return error_set(error, ERR_IO, "the database %s: %s", path, strerror(errno));
    (void)snprintf(file, sizeof file, "%s-lock", resolved);
    bool opened = file_lock_open(&l->file, file, resolved);
    if (opened && file_lock_set(&l->file, mode, false))
        return OK;
    int code = errno;
    file_lock_close(&l->file);
    return fail_lock(opened ? "lock" : "open", resolved, file, code, error);
}

static enum err fail_replacing(const char *path, struct error *error)
{
    return error_set(
        error, ERR_BUSY,
        "the database %s is being replaced by `viewtally restore` or `viewtally move`: try again "
        "when this command has finished",
        path);
}

static enum err fail_migrating(const char *path, struct error *error)
{
    return error_set(error, ERR_BUSY,
                     "the database %s is being migrated by another process: try again when it has finished",
                     path);
}

static bool is_being_migrated(const char *path)
{
    char resolved[DATABASE_PATH_MAX], file[DATABASE_PATH_MAX + 16];
    struct file_lock turn;
    if (!file_resolve_path(path, resolved))
        return false;
    (void)snprintf(file, sizeof file, "%s" DATABASE_MIGRATE_ENDING, resolved);
    if (access(file, F_OK) != 0 || !file_lock_open(&turn, file, resolved))
        return false;
    const bool is_held = !file_lock_set(&turn, FILE_LOCK_SHARED, false) && errno == EWOULDBLOCK;
    file_lock_close(&turn);
    return is_held;
}

/* If the lock is held exclusively, a migration, a restore or a move to this database is running. A migration
 * may begin or end between acquire() and is_being_migrated(), and a move holds the lock of the database that
 * it copies for a moment. So the database is assumed to be replaced only after two consecutive attempts that
 * found no migration. */
static enum err share(struct database_lock *l, const char *path, struct error *error)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000L * 1000L};
    const int64_t until = clock_work_us() + MIGRATION_TIMEOUT_MS * INT64_C(1000);
    for (int unexplained = 0;;) {
        enum err err = acquire(l, path, FILE_LOCK_SHARED, error);
        if (err != ERR_BUSY)
            return err;
        const bool is_migrating = is_being_migrated(path);
        unexplained = is_migrating ? 0 : unexplained + 1;
        if (unexplained == 2)
            return fail_replacing(path, error);
        if (clock_work_us() > until)
            return fail_migrating(path, error);
        (void)nanosleep(&pause, NULL);
    }
}

/* While a restore renames the files, the database is missing, as after an interrupted restore. */
static bool is_being_replaced(const char *path)
{
    struct database_lock l = {.file.fd = -1};
    struct error ignored;
    const bool is_held =
        database_replace_was_interrupted(path) && acquire(&l, path, FILE_LOCK_SHARED, &ignored) == ERR_BUSY;
    file_lock_close(&l.file);
    return is_held;
}

enum err database_lock_acquire_shared(struct database_lock *l, const char *path, bool creates,
                                      struct error *error)
{
    l->file.fd = -1;
    enum err err = diagnose_path(path, error);
    if (err == ERR_NOT_FOUND && creates)
        err = diagnose_directory(path, error);
    if (err == ERR_NOT_FOUND && is_being_replaced(path))
        return fail_replacing(path, error);
    if (err)
        return err;
    return share(l, path, error);
}

enum err database_lock_acquire_exclusive(struct database_lock *l, const char *path, struct error *error)
{
    enum err err = acquire(l, path, FILE_LOCK_EXCLUSIVE, error);
    if (err == ERR_BUSY)
        error_set(error, err,
                  "the database %s is in use: stop the server and all other viewtally commands first", path);
    return err;
}

/* Polls the lock until the timeout, because flock(2) has no timeout. */
static bool convert(struct database_lock *l, enum file_lock_mode mode, int timeout_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000L * 1000L};
    const int64_t until = clock_work_us() + timeout_ms * INT64_C(1000);
    while (!file_lock_set(&l->file, mode, false)) {
        if (errno != EWOULDBLOCK || clock_work_us() >= until)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

enum err database_lock_make_exclusive(struct database_lock *l, const char *path, struct error *error)
{
    if (convert(l, FILE_LOCK_EXCLUSIVE, EXCLUDE_TIMEOUT_MS))
        return OK;
    return error_set(
        error, err_of(errno),
        "the database %s is in use by processes that could not use it after this migration: stop "
        "the server and all other viewtally commands, then run `viewtally migrate`",
        path);
}

void database_lock_pause(struct database_lock *l)
{
    (void)file_lock_set(&l->file, FILE_LOCK_NONE, false);
}

enum err database_lock_make_shared(struct database_lock *l, const char *path, struct error *error)
{
    return convert(l, FILE_LOCK_SHARED, EXCLUDE_TIMEOUT_MS) ? OK : fail_replacing(path, error);
}

void database_lock_release(struct database_lock *l)
{
    file_lock_close(&l->file);
}

/* Copies a database that may be in use. */
#include "base/file_sync.h"
#include "store/sqlite/db.h"
#include "store/sqlite/diagnosis.h"
#include "store/sqlite/sqlite_queries.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { COPY_TIMEOUT_MS = 10000 };

struct copying {
    const char *path, *to;
    const struct store_progress *progress; /* may be NULL */
    bool is_backup;
};

/* Makes the copy a single file, so that it can be opened without write access to its directory, and verifies
 * it.
 */
static enum err complete_backup(struct db *copy, const struct copying *c, struct error *error)
{
    bool left = false, sound = false;
    enum err err = db_exec_text(copy, SQL_LEAVE_WAL, "delete", &left);
    if (err || !left)
        return diagnose_failure(err ? err : ERR_BUSY, c->to, error);
    db_set_progress(copy, c->progress);
    err = db_exec_text(copy, SQL_INTEGRITY, "ok", &sound);
    if (!err && !sound)
        err = ERR_CORRUPT;
    if (err == ERR_CORRUPT)
        return error_set(error, err,
                         "the copy of %s is damaged, so the database or the disk is damaged, too: check the "
                         "disk, and run `sqlite3 %s 'PRAGMA integrity_check'`",
                         c->path, c->path);
    return err ? diagnose_failure(err, c->to, error) : OK;
}

static enum err copy_into(struct db *from, const struct copying *c, struct error *error)
{
    struct db copy;
    enum err err = db_open(&copy, c->to);
    if (err)
        return diagnose_failure(err, c->to, error);
    err = db_copy(from, &copy, c->progress);
    if (err == ERR_CORRUPT)
        (void)diagnose_failure(err, c->path, error);
    else if (err == ERR_FULL)
        (void)diagnose_failure(err, c->to, error);
    else if (err)
        error_set(error, err, "cannot copy %s to %s: %s", c->path, c->to, err_name(err));
    else if (c->is_backup)
        err = complete_backup(&copy, c, error);
    db_close(&copy);
    return err;
}

static enum err copy(const struct copying *c, struct error *error)
{
    struct db from;
    struct stat st;
    int64_t objects;
    enum err err = diagnose_path(c->path, error);
    if (err)
        return err;
    if (stat(c->path, &st) == 0 && st.st_size == 0)
        return diagnose_empty(c->path, error);
    err = db_open(&from, c->path);
    if (err)
        return diagnose_failure(err, c->path, error);
    db_set_busy_timeout(&from, COPY_TIMEOUT_MS);
    /* SQLite may have to create files beside the database before it can read it. After this, ERR_FULL can
     * only refer to the disk of the copy. */
    err = db_exec_i64(&from, SQL_COUNT_SCHEMA, &objects);
    err = err ? diagnose_failure(err, c->path, error) : copy_into(&from, c, error);
    db_close(&from);
    return err;
}

enum err store_copy(const char *path, const char *to, struct error *error)
{
    const struct copying c = {.path = path, .to = to};
    return copy(&c, error);
}

enum err store_back_up(const char *path, const char *to, const struct store_progress *progress,
                       struct error *error)
{
    const struct copying c = {.path = path, .to = to, .progress = progress, .is_backup = true};
    enum err err = copy(&c, error);
    if (err || file_sync(to))
        return err;
    return error_set(error, ERR_IO, "%s cannot be written: %s", to, strerror(errno));
}

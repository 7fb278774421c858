/* Copies a database that may be in use. */
#include "store/db.h"
#include "store/diagnosis.h"
#include "store/store.h"

#include <sys/stat.h>

enum { COPY_TIMEOUT_MS = 10000 };

static enum err copy_into(struct db *from, const char *path, const char *to, struct error *error)
{
    struct db copy;
    enum err err = db_open(&copy, to);
    if (err)
        return diagnose_failure(err, to, error);
    db_set_busy_timeout(from, COPY_TIMEOUT_MS);
    err = db_copy(from, &copy);
    if (err)
        error_set(error, err, "cannot copy %s to %s: %s", path, to, err_name(err));
    db_close(&copy);
    return err;
}

enum err store_copy(const char *path, const char *to, struct error *error)
{
    struct db from;
    struct stat st;
    enum err err = diagnose_path(path, error);
    if (err)
        return err;
    if (stat(path, &st) == 0 && st.st_size == 0)
        return diagnose_empty(path, error);
    err = db_open(&from, path);
    if (err)
        return diagnose_failure(err, path, error);
    err = copy_into(&from, path, to, error);
    db_close(&from);
    return err;
}

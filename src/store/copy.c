/* A copy of a database that is in use. Knows files, nothing of what is in them. */
#include "store/db.h"
#include "store/store.h"
#include "store/diagnosis.h"

#include <sys/stat.h>

enum { COPY_TIMEOUT_MS = 10000 };

static enum err copy_into(struct db *from, const char *path, const char *to, const char **why)
{
    struct db copy;
    enum err err = db_open(&copy, to);
    if (err) {
        *why = why_of(err, to);
        return err;
    }
    db_set_busy_timeout(from, COPY_TIMEOUT_MS);
    err = db_copy(from, &copy);
    if (err)
        *why = db_sentence("%s cannot be copied to %s: %s", path, to, err_name(err));
    db_close(&copy);
    return err;
}

enum err store_copy(const char *path, const char *to, const char **why)
{
    struct db from;
    struct stat st;
    enum err err = why_bad_path(path, why);
    if (err)
        return err;
    if (stat(path, &st) == 0 && st.st_size == 0) {
        *why = why_empty(path);
        return ERR_VERSION;
    }
    err = db_open(&from, path);
    if (err) {
        *why = why_of(err, path);
        return err;
    }
    err = copy_into(&from, path, to, why);
    db_close(&from);
    return err;
}

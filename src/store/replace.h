/* Replaces the database file. A crash at any step leaves the old database, or the new one, or none and an
 * error that explains why; never the new file with the old write-ahead log.
 *
 *   replace_begin()    creates the draft: an empty file <database>-restore
 *   (the caller fills the draft)
 *   replace_publish()  <database>          -> <database>.before-TIME          1
 *                      <database>-wal, ... -> <database>.before-TIME-wal, ... 2
 *                      <database>-restore  -> <database>                      3
 *
 * The database is moved before its log, because it may lack commits without it: a crash between 1 and 2 must
 * not leave a database that can be opened. Between 1 and 3 there is no database, and the draft marks the
 * restore as interrupted. The next restore continues with the same TIME, so that the set put aside can be
 * opened again. */
#ifndef VT_STORE_REPLACE_H
#define VT_STORE_REPLACE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATABASE_PATH_MAX = 4096 - 64 /* leaves room for the endings */ };

/* Follows all symbolic links of `path`; the file need not exist. SQLite keeps its log beside the resolved
 * file. Returns false with errno set on failure. */
bool database_path_resolve(const char *path, char out[DATABASE_PATH_MAX]);

/* The files that SQLite keeps beside a database: "-wal", "-shm", "-journal". */
enum { REPLACE_COMPANIONS = 3 };
extern const char *const replace_companions[REPLACE_COMPANIONS];

struct replacement {
    char path[DATABASE_PATH_MAX];        /* the database, resolved */
    char draft[DATABASE_PATH_MAX + 16];  /* where the new database is built */
    char before[DATABASE_PATH_MAX + 40]; /* the newest database that a restore put aside; "": none */
    bool is_missing;                     /* there is no database */
    bool moved[1 + REPLACE_COMPANIONS];  /* by replace_publish(): the database and its companions */
    bool resumes;                        /* an earlier restore was interrupted between steps 1 and 3 */
};

/* Inspects the files and creates the draft: an empty file with owner, group and permissions of the database
 * or, if there is none, of `before` or the directory. Call with the database lock held. After an error do not
 * call replace_abort(). */
MUST_USE enum err replace_begin(struct replacement *r, const char *path, struct error *error);

/* Puts the database and its companions aside and the draft in its place, synced to disk. `r->before` receives
 * the new name of the old database; `r->moved` says which files there were. The draft must be closed, synced,
 * and without companions. On error the old files have their names back. */
MUST_USE enum err replace_publish(struct replacement *r, int64_t now_s, struct error *error);

/* Deletes the draft, unless it marks an earlier restore as interrupted. */
void replace_abort(const struct replacement *r);

/* Returns true if a restore was interrupted between steps 1 and 3. */
bool replace_was_interrupted(const char *path);

/* Finds the newest `<path>.before-TIME`. Returns false if there is none. */
bool replace_find_before(const char *path, char *out, size_t size);

#endif

/* Replacing the database file by another one, so that a crash at any step leaves either the old database, or
 * no database and an explanation, or the new one; never the new file with the old write-ahead log.
 *
 *   replace_begin()    <database>-restore is an empty file: the draft
 *   (the caller fills the draft)
 *   replace_publish()  <database>          -> <database>.before-TIME          1
 *                      <database>-wal, ... -> <database>.before-TIME-wal, ... 2
 *                      <database>-restore  -> <database>                      3
 *
 * The database comes first, because without its log it may lack commits: a crash between 1 and 2 must not
 * leave a database that can be opened. Between 1 and 3 there is no database, and the draft tells that a
 * restore was interrupted; the next restore continues with the same TIME, so that the set put aside can be
 * opened again. */
#ifndef VT_STORE_REPLACE_H
#define VT_STORE_REPLACE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATABASE_PATH_MAX = 4096 - 64 /* leaves room for the endings */ };

/* The file that `path` means, with all symbolic links followed, also if it does not exist: SQLite keeps its
 * log beside that file. Returns false with errno set on failure. */
bool database_path_resolve(const char *path, char out[DATABASE_PATH_MAX]);

/* What SQLite keeps beside a database: "-wal", "-shm", "-journal". */
enum { REPLACE_COMPANIONS = 3 };
extern const char *const replace_companions[REPLACE_COMPANIONS];

struct replacement {
    char path[DATABASE_PATH_MAX];        /* the database, resolved */
    char draft[DATABASE_PATH_MAX + 16];  /* where the new one is made */
    char before[DATABASE_PATH_MAX + 40]; /* newest database put aside by a restore; "": none */
    bool is_missing;                     /* there is no database */
    bool moved[1 + REPLACE_COMPANIONS];  /* by replace_publish(): the database, its companions */
    bool resumes;                        /* an earlier restore was interrupted between steps 1 and 3 */
};

/* Finds out how things are and makes the draft: an empty file with owner, group and permissions of the
 * database or, if there is none, of `before` or the directory. Call with the database lock held. On error
 * `*why` is a sentence for the operator (valid until the next call from this thread) and nothing is left to
 * be aborted. */
MUST_USE enum err replace_begin(struct replacement *r, const char *path, const char **why);

/* Puts the database and its companions aside and the draft in its place, all on disk. `r->before` receives
 * the name under which the old files are now; `r->moved` says which there were. The draft must be closed,
 * synced, and without companions. On error the old files are back under their names; `*why` as above. */
MUST_USE enum err replace_publish(struct replacement *r, int64_t now_s, const char **why);

/* Deletes the draft, unless it tells of an earlier interrupted restore. */
void replace_abort(const struct replacement *r);

/* Whether a restore was interrupted between steps 1 and 3. */
bool replace_was_interrupted(const char *path);

/* The newest `<path>.before-TIME` beside it. Returns false if there is none. */
bool replace_find_before(const char *path, char *out, size_t size);

#endif

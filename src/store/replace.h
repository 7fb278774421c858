/* Replaces the database file with a new file, the draft. After a crash at any step, the path names the old
 * database, or the new one, or no file. If it names no file, opening the database fails with an error that
 * explains the interrupted restore. The new file never gets the old write-ahead log.
 *
 *   replace_begin()    creates the draft: an empty file <database>-restore
 *   (the caller fills the draft)
 *   replace_publish()  <database>          -> <database>.before-TIME          1
 *                      <database>-wal, ... -> <database>.before-TIME-wal, ... 2
 *                      <database>-restore  -> <database>                      3
 *
 * The database is renamed before its log, because without the log it may lack commits: a crash between 1 and
 * 2 must not leave a database that can be opened. Between 1 and 3 there is no database; the draft shows that
 * a restore was interrupted. The next restore continues with the same TIME, so that the old database and its
 * log have matching names and can be opened. */
#ifndef VT_STORE_REPLACE_H
#define VT_STORE_REPLACE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATABASE_PATH_MAX = 4096 - 64 /* leaves room for suffixes */ };

/* Resolves all symbolic links of `path`. The file need not exist. SQLite keeps its log beside the resolved
 * file. Returns false with errno set on failure. */
bool database_path_resolve(const char *path, char out[DATABASE_PATH_MAX]);

/* The files that SQLite keeps beside a database: "-wal", "-shm", "-journal". */
enum { REPLACE_COMPANIONS = 3 };
extern const char *const replace_companions[REPLACE_COMPANIONS];

struct replacement {
    char path[DATABASE_PATH_MAX];       /* the database, resolved */
    char draft[DATABASE_PATH_MAX + 16]; /* the new database while the caller fills it */
    char
        before[DATABASE_PATH_MAX + 40]; /* the newest old database, renamed by an earlier restore; "": none */
    bool is_missing;                    /* there is no database */
    bool moved[1 + REPLACE_COMPANIONS]; /* set by replace_publish(): which of the database and its companions
                                           were renamed */
    bool resumes;                       /* an earlier restore was interrupted between steps 1 and 3 */
};

/* Inspects the files and creates the draft, an empty file. The draft gets the owner, group and permissions
 * of the database. If there is no database, it gets those of r->before, or else of the directory. Call with
 * the database lock held. After an error do not call replace_abort(). */
MUST_USE enum err replace_begin(struct replacement *r, const char *path, struct error *error);

/* Renames the database and its companions, moves the draft to the database's path, and syncs the directory to
 * disk. `r->before` receives the new path of the old database; `r->moved` tells which files were renamed. The
 * draft must be closed, synced, and without companions. On error the old files have their old names again. */
MUST_USE enum err replace_publish(struct replacement *r, int64_t now_s, struct error *error);

/* Deletes the draft. Keeps it if the old database has been renamed and has not got its name back, because
 * then the draft marks the interrupted restore. */
void replace_abort(const struct replacement *r);

/* Returns true if a restore was interrupted between steps 1 and 3. */
bool replace_was_interrupted(const char *path);

/* Finds the newest file `<path>.before-TIME` and writes its path to `out`. Returns false if none exists. */
bool replace_find_before(const char *path, char *out, size_t size);

#endif

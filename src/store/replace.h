/* Replaces the database file with a new file, the draft. After a crash at any step, the path names the old
 * database, or the new one, or no file. If it names no file, opening the database fails with an error that
 * explains the interrupted restore. The new file never gets the old write-ahead log.
 *
 *   database_replace_begin()    creates the draft: an empty file <database>-restore
 *   (the caller fills the draft)
 *   database_replace_publish()  renames in this order:
 *     1  <database>          -> <database>.before-TIME
 *     2  <database>-wal, ... -> <database>.before-TIME-wal, ...
 *     3  <database>-restore  -> <database>
 *
 * The database is renamed before its log, because without the log it may lack commits: a crash between 1 and
 * 2 must not leave a database that can be opened. Between 1 and 3 there is no database; the draft shows that
 * a restore was interrupted. The next restore continues with the same TIME, so that the old database and its
 * log have matching names and can be opened. */
#ifndef VT_STORE_REPLACE_H
#define VT_STORE_REPLACE_H

#include "base/error.h"
#include "base/file_target.h"
#include "base/vec.h"
#include "store/database_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The files that SQLite keeps beside a database: "-wal", "-shm", "-journal". */
enum { REPLACE_COMPANIONS = 3 };
extern const char *const replace_companions[REPLACE_COMPANIONS];

struct replacement {
    char path[DATABASE_PATH_MAX];       /* the database, resolved */
    char draft[DATABASE_PATH_MAX + 16]; /* the new database while the caller fills it */
    char
        before[DATABASE_PATH_MAX + 40]; /* the newest old database, renamed by an earlier restore; "": none */
    bool is_missing;                    /* there is no database */
    bool moved[1 + REPLACE_COMPANIONS]; /* set by database_replace_publish(): which of the database and its
                                           companions were renamed. If a restore is resumed,
                                           database_replace_begin() has already renamed companions */
    bool is_published; /* the draft has replaced the database; set by database_replace_publish(), which may
                          fail nevertheless */
    bool resumes;      /* an earlier restore was interrupted between steps 1 and 3 */
};

/* Inspects the files, completes step 2 (see the head of this file) of an interrupted restore, and creates the
 * draft, an empty file. The draft gets the owner, group and permissions of the database or, if there is no
 * database, of r->before. If there is neither, it gets the owner and group of the directory, and mode 0640
 * less the umask. Call with the database lock held. After an error do not call database_replace_abort(). */
MUST_USE enum err database_replace_begin(struct replacement *r, const char *path, struct error *error);

/* Renames the database and its companions, moves the draft to the database's path, and syncs the directory to
 * disk. `r->before` receives the new path of the old database; `r->moved` tells which files were renamed. The
 * draft must be closed and without companions. On error the old files have their old names again, with two
 * exceptions: they could not be renamed back, or only the last sync of the directory has failed. In the
 * second case, `r->is_published` is true. */
MUST_USE enum err database_replace_publish(struct replacement *r, int64_t now_ms, struct error *error);

/* Deletes the draft. Keeps it if there is no database at the path, because the old one could not be renamed
 * back, or because this restore resumes an interrupted one: the draft then shows that a restore was
 * interrupted. */
void database_replace_abort(const struct replacement *r);

/* Returns true if a restore was interrupted between steps 1 and 3. */
bool database_replace_was_interrupted(const char *path);

/* The databases that restores have replaced, including databases of which only a -wal, -shm or -journal file
 * is left. */
struct before_path {
    char path[DATABASE_PATH_MAX + 40]; /* <database>.before-TIME */
};
struct before_list {
    VEC(struct before_path) paths;
};
/* Lists the replaced databases. Free the list with VEC_FREE(&list->paths), also after a failure. Returns
 * false with errno set if the directory cannot be read. */
bool database_list_replaced(const char *path, struct before_list *list);

/* Finds the newest file `<path>.before-TIME` and writes its path to `out`. Returns false if none exists. */
bool database_find_replaced(const char *path, char *out, size_t size);

#endif

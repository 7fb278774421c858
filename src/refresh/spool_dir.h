/* The spool directory as a directory: which files wait in it, opening one without falling into what else may
 * lie there, and moving one away. Knows nothing of what the files hold, nor of the database.
 *
 * A file waits when its name ends in .ndjson, does not begin with a dot and is at most SPOOL_NAME_MAX bytes
 * long, and it is a regular file; all else is left alone. What has been dealt with goes to done/ or bad/ in
 * the same directory, so a move is a rename: nothing is copied, and a crash leaves the file here or there. */
#ifndef VT_REFRESH_SPOOL_DIR_H
#define VT_REFRESH_SPOOL_DIR_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/spool_records.h"

enum { SPOOL_NAME_MAX = 200 }; /* leaves room for a suffix and .errors */
enum { SPOOL_FILES_MAX = 100000 };

enum spool_place { SPOOL_DONE, SPOOL_BAD };

struct spool_dir {
    int fd; /* -1: not open */
    int places[2];
};

/* Opens the directory; creates it (not its parents) and the two in it where they are missing. On failure
 * `why` holds a sentence. */
MUST_USE enum err spool_dir_open(struct spool_dir *d, const char *path, struct buf *why);
void spool_dir_close(struct spool_dir *d); /* harmless when not open */

bool spool_dir_is_candidate(struct str name);

struct spool_entry {
    struct str name;
    struct file_identity identity;
};

struct spool_list {
    struct spool_entry *entries; /* in the arena */
    size_t count;
    size_t left_alone; /* candidates by name that are no regular files; logged */
};

/* What waits, oldest first by the time of its last change, then by name; SPOOL_FILES_MAX at most, the rest is
 * for the next time. */
MUST_USE enum err spool_dir_list(const struct spool_dir *d, struct arena *a, struct spool_list *out);

/* The same for who only wants to know: creates nothing. False: the directory cannot be read. */
MUST_USE bool spool_dir_scan(const char *path, struct arena *a, struct spool_list *out);

/* Whether anything waits. Looks no further than the first. */
bool spool_dir_has_any(const char *path);

/* Opens the regular file of that name, never through a link and never waiting for anything. ERR_NOT_FOUND:
 * gone, or no regular file any more. Others: may not be read; logged. */
MUST_USE enum err spool_dir_open_file(const struct spool_dir *d, struct str name, int *fd,
                                      struct file_identity *identity);

/* What the open file is now; it may have changed since. */
MUST_USE enum err spool_file_identify(int fd, struct file_identity *out);

/* Whether some process may still write to the file: has it open for that, and it was written or renamed in
 * the last seconds. False also where the system does not say, as for other users' files if we are not
 * privileged.
 */
bool spool_file_has_writer(int fd);

/* The identity of what has the name now. ERR_NOT_FOUND: nothing, or no regular file. */
MUST_USE enum err spool_dir_identify(const struct spool_dir *d, struct str name, struct file_identity *out);

/* Moves the file away, if that name still means that file. In `as` (may be NULL) it gets a name
 * under which neither a file nor a report lies in the place: its own, or with the time in it. ERR_NOT_FOUND:
 * the name means something else by now, or nothing; it was left alone. */
MUST_USE enum err spool_dir_move(const struct spool_dir *d, struct str name,
                                 const struct file_identity *identity, enum spool_place place, int64_t now_ms,
                                 struct buf *as);

/* After one move or many: they are on disk. */
MUST_USE enum err spool_dir_sync(const struct spool_dir *d, enum spool_place place);

/* Under which name bad/ holds that file. ERR_NOT_FOUND: under none. */
MUST_USE enum err spool_dir_find_bad(const struct spool_dir *d, const struct file_identity *identity,
                                     struct buf *name);

/* The report of bad lines beside a file of bad/: NAME.errors. It appears when it is complete and on disk.
 * `write` puts the lines out; false: it cannot go on (with errno set). A report that is there stays as it
 * is. */
MUST_USE enum err spool_dir_report(const struct spool_dir *d, struct str name,
                                   bool (*write)(void *ctx, int fd), void *ctx);

#endif

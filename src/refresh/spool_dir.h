/* File operations in the spool directory: listing pending files, and opening and moving a file safely.
 *
 * A pending file is a regular file whose name ends in .ndjson, does not begin with a dot and has at most
 * SPOOL_NAME_MAX bytes. Everything else is ignored. Finished files are renamed into the subdirectories done/
 * or bad/, so that after a crash a file is either still pending or in its subdirectory. */
#ifndef VT_REFRESH_SPOOL_DIR_H
#define VT_REFRESH_SPOOL_DIR_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/spool_records.h"

enum { SPOOL_NAME_MAX = 200 }; /* a time and ".errors" can be appended without exceeding NAME_MAX */
#ifdef VT_TEST_SEAMS
enum { SPOOL_FILES_MAX = 1000 };
#else
enum { SPOOL_FILES_MAX = 100000 };
#endif

enum spool_place { SPOOL_DONE, SPOOL_BAD };

struct spool_dir {
    int fd;        /* -1 if not open */
    int places[2]; /* directory descriptors, by enum spool_place */
};

/* Opens the directory and its two subdirectories. Creates any of the three that does not exist, but no
 * parents of `path`. On an error, appends the cause to `why`. */
MUST_USE enum err spool_dir_open(struct spool_dir *d, const char *path, struct buf *why);
void spool_dir_close(struct spool_dir *d); /* does nothing if not open */

/* Returns true if a file with this name can be pending (see the file head). */
bool spool_dir_is_candidate(struct str name);

struct spool_entry {
    struct str name;
    struct file_identity identity;
};

struct spool_list {
    struct spool_entry *entries; /* in the arena */
    size_t count;
    size_t ignored; /* number of entries with a matching name that are not regular files; logged */
};

/* Lists pending files, ordered by modification time, then by name: all of them, or the oldest
 * SPOOL_FILES_MAX. */
MUST_USE enum err spool_dir_list(const struct spool_dir *d, struct arena *a, struct spool_list *out);

/* Like spool_dir_list(), but for a directory that is not open. Creates nothing. Returns false if the
 * directory cannot be read. */
MUST_USE bool spool_dir_scan(const char *path, struct arena *a, struct spool_list *out);

/* Returns true if at least one file is pending. Cheap. */
bool spool_dir_has_any(const char *path);

/* Opens a regular file for reading. Does not follow symbolic links and does not block. Returns ERR_NOT_FOUND
 * if the file no longer exists or is not a regular file. Other errors are logged. The caller closes `*fd`. */
MUST_USE enum err spool_dir_open_file(const struct spool_dir *d, struct str name, int *fd,
                                      struct file_identity *identity);

/* Sets `*out` to the current identity of an open file. */
MUST_USE enum err spool_file_identify(int fd, struct file_identity *out);

/* Returns true if a process has the file open for writing and the file was changed or renamed within the last
 * 10 seconds. Returns false if the system does not provide this information, for example for files of other
 * users if the process is not privileged. */
bool spool_file_has_writer(int fd);

/* Sets `*out` to the identity of the file `name`. Returns ERR_NOT_FOUND if no such file exists or it is not a
 * regular file. */
MUST_USE enum err spool_dir_identify(const struct spool_dir *d, struct str name, struct file_identity *out);

/* Moves the file `name`. Returns ERR_NOT_FOUND if it no longer has this identity. If the target directory
 * already has a file or a report of this name, adds the time `now_ms` to the new name. Appends the new name
 * to `target`, which may be NULL. */
MUST_USE enum err spool_dir_move(const struct spool_dir *d, struct str name,
                                 const struct file_identity *identity, enum spool_place place, int64_t now_ms,
                                 struct buf *target);

/* Makes moves to this place durable (fsync). */
MUST_USE enum err spool_dir_sync(const struct spool_dir *d, enum spool_place place);

/* Deletes the files in done/ that were moved there before `before_ms`, at most SPOOL_FILES_MAX at once.
 * Ignores files whose names begin with a dot or do not end in .ndjson. Errors are logged. */
void spool_dir_prune_finished(const struct spool_dir *d, int64_t before_ms);

/* Finds a file in bad/ by its identity and appends its name to `name`. Returns ERR_NOT_FOUND if bad/ does not
 * contain it. */
MUST_USE enum err spool_dir_find_bad(const struct spool_dir *d, const struct file_identity *identity,
                                     struct buf *name);

/* Creates the report NAME.errors in bad/, atomically and durably. Calls `write` for the content; `write`
 * returns false with errno set on an error. Does nothing if the report exists. */
MUST_USE enum err spool_dir_report(const struct spool_dir *d, struct str name,
                                   bool (*write)(void *ctx, int fd), void *ctx);

#endif

/* File operations in the spool directory: listing the files that wait, opening one safely, moving one.
 *
 * A file waits if it is a regular file whose name ends in .ndjson, does not begin with a dot and has at most
 * SPOOL_NAME_MAX bytes; everything else is ignored. Finished files move to the subdirectories done/ or bad/
 * by rename, so a crash leaves a file in one place or the other. */
#ifndef VT_REFRESH_SPOOL_DIR_H
#define VT_REFRESH_SPOOL_DIR_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/spool_records.h"

enum { SPOOL_NAME_MAX = 200 }; /* leaves room for a time and .errors */
enum { SPOOL_FILES_MAX = 100000 };

enum spool_place { SPOOL_DONE, SPOOL_BAD };

struct spool_dir {
    int fd; /* -1: not open */
    int places[2];
};

/* Opens the directory and the two subdirectories; creates them (but not the parents) if needed. On error
 * appends the cause to `why`. */
MUST_USE enum err spool_dir_open(struct spool_dir *d, const char *path, struct buf *why);
void spool_dir_close(struct spool_dir *d); /* ignored if not open */

bool spool_dir_is_candidate(struct str name);

struct spool_entry {
    struct str name;
    struct file_identity identity;
};

struct spool_list {
    struct spool_entry *entries; /* in the arena */
    size_t count;
    size_t ignored; /* with a matching name, but not regular files; logged */
};

/* Lists the files that wait, by modification time, then by name; at most SPOOL_FILES_MAX. */
MUST_USE enum err spool_dir_list(const struct spool_dir *d, struct arena *a, struct spool_list *out);

/* The same for a directory that is not open. Creates nothing. Returns false if it cannot be read. */
MUST_USE bool spool_dir_scan(const char *path, struct arena *a, struct spool_list *out);

/* Whether at least one file waits. Cheap. */
bool spool_dir_has_any(const char *path);

/* Opens a regular file; does not follow links and does not block. ERR_NOT_FOUND: it no longer exists or is
 * not a regular file. Other errors are logged. */
MUST_USE enum err spool_dir_open_file(const struct spool_dir *d, struct str name, int *fd,
                                      struct file_identity *identity);

/* The current identity of an open file. */
MUST_USE enum err spool_file_identify(int fd, struct file_identity *out);

/* Whether a process has the file open for writing, and it was changed or renamed within the last seconds.
 * False if that cannot be determined, such as for files of other users if we are not privileged. */
bool spool_file_has_writer(int fd);

/* The identity of the file with that name. ERR_NOT_FOUND: none, or not a regular file. */
MUST_USE enum err spool_dir_identify(const struct spool_dir *d, struct str name, struct file_identity *out);

/* Moves the file if that name still has that identity; else ERR_NOT_FOUND. If the target has a file or a
 * report with that name, the new name contains the time. Appends the new name to `target` (may be NULL). */
MUST_USE enum err spool_dir_move(const struct spool_dir *d, struct str name,
                                 const struct file_identity *identity, enum spool_place place, int64_t now_ms,
                                 struct buf *target);

/* Makes moves durable. */
MUST_USE enum err spool_dir_sync(const struct spool_dir *d, enum spool_place place);

/* Appends the name of the file in bad/. ERR_NOT_FOUND: it is not there. */
MUST_USE enum err spool_dir_find_bad(const struct spool_dir *d, const struct file_identity *identity,
                                     struct buf *name);

/* Writes the report NAME.errors in bad/, atomically and durably. `write` writes the content; it returns false
 * on error, with errno set. An existing report is not overwritten. */
MUST_USE enum err spool_dir_report(const struct spool_dir *d, struct str name,
                                   bool (*write)(void *ctx, int fd), void *ctx);

#endif

/* An advisory lock between processes: flock(2) on an empty lock file. The kernel releases the lock when the
 * process ends, even after a crash. Never delete the lock file: two processes could then lock two different
 * files of the same name. */
#ifndef VT_BASE_FILE_LOCK_H
#define VT_BASE_FILE_LOCK_H

#include <stdbool.h>

struct file_lock {
    int fd; /* -1 if not open */
};

enum file_lock_mode { FILE_LOCK_NONE, FILE_LOCK_SHARED, FILE_LOCK_EXCLUSIVE };

/* Opens the lock file `path` without locking it. If the file does not exist, creates it with the same owner
 * as the file `model` (file_owner.h). Returns false with errno set on failure. */
bool file_lock_open(struct file_lock *l, const char *path, const char *model);
/* Releases the lock and closes the file. Does nothing if the file is not open. */
void file_lock_close(struct file_lock *l);

/* Acquires the lock in `mode`, converts it to `mode`, or releases it (FILE_LOCK_NONE). If another process
 * holds a conflicting lock, waits until it is released if `wait` is true, and fails with EWOULDBLOCK if
 * `wait` is false. Returns false with errno set on failure. A failed conversion may lose the lock, because
 * flock(2) releases the old lock before it acquires the new one. */
bool file_lock_set(const struct file_lock *l, enum file_lock_mode mode, bool wait);

#endif

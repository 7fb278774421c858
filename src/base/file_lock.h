/* An advisory lock between processes: flock(2) on an empty lock file. The kernel releases the lock when the
 * process ends, even after a crash. Never delete the file: two processes could then hold locks on different
 * files of the same name. */
#ifndef VT_BASE_FILE_LOCK_H
#define VT_BASE_FILE_LOCK_H

#include <stdbool.h>

struct file_lock {
    int fd; /* -1: not open */
};

enum file_lock_mode { FILE_LOCK_NONE, FILE_LOCK_SHARED, FILE_LOCK_EXCLUSIVE };

/* Opens the lock file without locking it. Creates it if necessary, with the owner of `model` (file_owner.h).
 * Returns false with errno set on failure. */
bool file_lock_open(struct file_lock *l, const char *path, const char *model);
void file_lock_close(struct file_lock *l); /* releases the lock; harmless if not open */

/* Acquires, converts or releases the lock. If another process holds it, blocks if `wait`, else fails with
 * EWOULDBLOCK. Returns false with errno set on failure; a lock held before may then be lost (flock(2):
 * converting a lock is not atomic). */
bool file_lock_set(const struct file_lock *l, enum file_lock_mode mode, bool wait);

#endif

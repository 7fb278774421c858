/* An advisory lock between processes: flock(2) on an empty file of its own. The kernel releases the lock when
 * the process ends, however that happens. The file stays: if it were deleted, two processes could hold locks
 * on different files of the same name. */
#ifndef VT_BASE_FILE_LOCK_H
#define VT_BASE_FILE_LOCK_H

#include <stdbool.h>

struct file_lock {
    int fd; /* -1: not open */
};

enum file_lock_mode { FILE_LOCK_NONE, FILE_LOCK_SHARED, FILE_LOCK_EXCLUSIVE };

/* Opens the lock file and creates it, if it does not exist, with the owner of `model` (file_owner.h). Nothing
 * is locked yet. Returns false with errno set on failure; then the lock is not open. */
bool file_lock_open(struct file_lock *l, const char *path, const char *model);
void file_lock_close(struct file_lock *l); /* releases the lock; harmless if not open */

/* Changes what is held. With `wait` blocks until that is possible, else fails with EWOULDBLOCK. Returns false
 * with errno set on failure; a lock held before may then be lost (flock(2), "converting a lock is not
 * atomic"). */
bool file_lock_set(const struct file_lock *l, enum file_lock_mode mode, bool wait);

#endif

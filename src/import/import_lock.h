/* A file lock that decides which import finalizes, because videos must not be finalized while an import is
 * running. Each import holds the lock shared. Finalizing requires the exclusive lock, so the import that ends
 * last finalizes the videos of all imports. The system releases the lock of a killed process. */
#ifndef VT_IMPORT_IMPORT_LOCK_H
#define VT_IMPORT_IMPORT_LOCK_H

#include "base/error.h"
#include "base/file_lock.h"

#include <stdbool.h>

struct import_lock {
    struct file_lock file; /* fd is -1 if not open */
};

/* Opens the lock of the database `path` without locking it. The lock is the empty file `path`-import, which
 * is created if it does not exist and is never removed. Errors are logged. */
MUST_USE enum err import_lock_open(struct import_lock *l, const char *path);
void import_lock_close(struct import_lock *l); /* releases the lock; does nothing if not open */

/* Acquires the shared lock. Waits while another process is finalizing. */
MUST_USE enum err import_lock_share(struct import_lock *l);

/* Releases the shared lock and tries to acquire the exclusive one. Returns false if another import is
 * running; no lock is held then. */
bool import_lock_try_exclusive(struct import_lock *l);

#endif

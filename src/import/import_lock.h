/* Decides which import finalizes: baselines are finalized after all imports, not while one is running. Every
 * import holds the lock shared; finalizing needs it exclusive, so the last import to end finalizes for all.
 * The system releases the lock of a killed process. */
#ifndef VT_IMPORT_IMPORT_LOCK_H
#define VT_IMPORT_IMPORT_LOCK_H

#include "base/error.h"
#include "base/file_lock.h"

#include <stdbool.h>

struct import_lock {
    struct file_lock file; /* fd -1: not open */
};

/* Opens the lock of the database `path`: the empty file `path`-import, which is never removed. Errors are
 * logged. */
MUST_USE enum err import_lock_open(struct import_lock *l, const char *path);
void import_lock_close(struct import_lock *l); /* releases the lock; harmless if not open */

/* Acquires the lock shared; waits while another process is finalizing. */
MUST_USE enum err import_lock_share(struct import_lock *l);

/* Releases the shared lock and tries to acquire it exclusively. Returns false if another import is running.
 */
bool import_lock_try_exclusive(struct import_lock *l);

#endif

/* A lock that decides which import finalizes, because videos must not be finalized while an import is
 * running. Each import holds the lock shared. Finalizing requires the exclusive lock, so the import that ends
 * last finalizes the videos of all imports. A command that deletes authors, videos or books, or replaces the
 * data of a server, also holds the exclusive lock, so that no import runs. The lock of a killed process is
 * released. */
#ifndef VT_STORE_IMPORT_LOCK_H
#define VT_STORE_IMPORT_LOCK_H

#include "store/store.h"

/* Acquires the shared lock on a STORE_WRITE connection that does not hold the lock. Waits while another
 * process holds the exclusive lock. Errors are logged. */
MUST_USE enum err import_lock_share(struct store *s);

/* Releases the shared lock, if it is held, and tries to acquire the exclusive lock. Sets `*acquired` to false
 * if another process holds the lock, shared or exclusive; in this case, no lock is held. Errors are logged.
 */
MUST_USE enum err import_lock_try_exclusive(struct store *s, bool *acquired);

/* Releases the lock. Does nothing if it is not held. store_close() releases it, too. */
void import_lock_release(struct store *s);

#endif

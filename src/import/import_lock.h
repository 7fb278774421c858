/* Who may run the closing pass: baselines are decided after the whole import, so not while another import is
 * still at work. Every import holds the lock shared; the closing pass takes it alone. The last import to end
 * does the pass for all. A process that dies loses the lock by dying. */
#ifndef VT_IMPORT_IMPORT_LOCK_H
#define VT_IMPORT_IMPORT_LOCK_H

#include "base/error.h"
#include "base/file_lock.h"

#include <stdbool.h>

struct import_lock {
    struct file_lock file; /* fd -1: not open */
};

/* The lock of the database `path`: the empty file `path`-import beside it, which stays there. Logged on
 * error. */
MUST_USE enum err import_lock_open(struct import_lock *l, const char *path);
void import_lock_close(struct import_lock *l); /* gives up what is held; harmless when not open */

/* Waits for a closing pass that is at work. */
MUST_USE enum err import_lock_share(struct import_lock *l);

/* Gives up the share and tries to take the lock alone. False: an import is at work. */
bool import_lock_try_exclusive(struct import_lock *l);

#endif

/* Checkpoints as jobs on libuv's thread pool, so that they delay neither the loop nor a commit. Every server
 * process watches the write-ahead log, whichever process fills it. */
#ifndef VT_STORE_CHECKPOINT_H
#define VT_STORE_CHECKPOINT_H

#include "base/error.h"
#include "base/metrics.h"
#include "store/store.h"

#include <uv.h>

struct checkpointer;
struct ticket_lock;

/* Opens its own connection (blocks) and starts to watch the log. `write_lock` is the lock of this process's
 * writers; it must outlive the checkpointer. */
MUST_USE enum err checkpointer_open(struct checkpointer **out, uv_loop_t *loop, const char *path,
                                    struct ticket_lock *write_lock, struct error *error);

struct checkpoint_counts {
    uint64_t done, failed;
    struct metrics_times times; /* including the wait for the lock */
    struct store_log log;       /* the last look at the log */
    bool too_long;              /* the log grows and a long read prevents its checkpoint */
};
const struct checkpoint_counts *checkpointer_counts(const struct checkpointer *c);

/* Waits for the running job, closes the connection, and calls `closed` on the loop thread, after this
 * function has returned. */
void checkpointer_close(struct checkpointer *c, void (*closed)(void *ctx), void *ctx);

#endif

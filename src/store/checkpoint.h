/* Makes checkpoints in jobs on libuv's thread pool, so that they do not delay the loop. They delay commits
 * only while a job copies the last pages, for which it holds the write lock. Every server process watches the
 * write-ahead log, to which all processes append. */
#ifndef VT_STORE_CHECKPOINT_H
#define VT_STORE_CHECKPOINT_H

#include "base/error.h"
#include "base/metrics.h"
#include "store/store.h"

#include <uv.h>

struct checkpointer;
struct ticket_lock;

/* Opens a connection of its own, which may block, and starts to watch the write-ahead log. `write_lock` is
 * the lock that the writers of this process share; it must outlive the checkpointer. */
MUST_USE enum err checkpointer_open(struct checkpointer **out, uv_loop_t *loop, const char *path,
                                    struct ticket_lock *write_lock, struct error *error);

struct checkpoint_counts {
    uint64_t done, failed;
    struct metrics_duration_histogram times; /* durations, including the wait for the lock */
    struct store_log_state log;              /* the log's state when it was last checked */
    bool too_long; /* the log keeps growing, because a long read prevents checkpoints, or because they fail */
};
/* Returns the counters. They are valid until checkpointer_close(). */
const struct checkpoint_counts *checkpointer_get_counts(const struct checkpointer *c);

/* Closes the checkpointer: waits for the running job without blocking, closes the connection, and calls
 * `closed` on the loop thread after this function has returned. */
void checkpointer_close(struct checkpointer *c, void (*closed)(void *ctx), void *ctx);

#endif

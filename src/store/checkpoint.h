/* Checkpoints as jobs: the write-ahead log goes back into the database on a thread of libuv's pool, so that
 * neither the loop nor a commit that somebody waits for is held up by it. Each server looks after the log,
 * whoever filled it. */
#ifndef VT_STORE_CHECKPOINT_H
#define VT_STORE_CHECKPOINT_H

#include "base/error.h"
#include "base/metrics.h"
#include "store/store.h"

#include <uv.h>

struct checkpointer;
struct ticket_lock;

/* Opens a connection of its own (blocking, at start) and begins to look. `gate`: where the writers of this
 * process take turns (gate.h); it must live until the checkpointer is closed. */
MUST_USE enum err checkpointer_open(struct checkpointer **out, uv_loop_t *loop, const char *path,
                                    struct ticket_lock *write_lock, struct error *error);

struct checkpoint_counts {
    uint64_t done, failed;
    struct metrics_times times; /* of each, the wait for its turn too */
    struct store_log log;       /* as it was a moment ago */
    bool too_long;              /* the log grows and cannot be emptied: somebody reads for long */
};
const struct checkpoint_counts *checkpointer_counts(const struct checkpointer *c);

/* Waits for the one at work, closes the connection, and calls `closed` on the loop, never before it returned.
 */
void checkpointer_close(struct checkpointer *c, void (*closed)(void *ctx), void *ctx);

#endif

/* The writer queue: every write of the server is a job here. Jobs run one after the other on libuv's thread
 * pool on the queue's own connection; `work` sees the store inside an open transaction and says by its result
 * whether it is committed. Serial, and in turns with a run of the refresh (gate.h), so nothing of this
 * process ever competes for the write lock; a job of another process may (busy time-out). */
#ifndef VT_STORE_WRITER_H
#define VT_STORE_WRITER_H

#include "base/error.h"
#include "base/metrics.h"
#include "store/store.h"

#include <uv.h>

struct ticket_lock;
struct writer;

/* One job. The memory is the caller's and must stay until `done` was called, which happens exactly once, on
 * the loop, never before writer_submit() returned. */
struct writer_job {
    /* On a pool thread, in a transaction. OK: commit; anything else: roll back. */
    enum err (*work)(struct writer_job *job, struct store *store);
    /* On the loop. `err` is OK only when the transaction is on disk; else nothing was written. */
    void (*done)(struct writer_job *job, enum err err);
    struct writer_job *next; /* the queue's */
};

/* Opens the writer's connection (blocking, at start). */
MUST_USE enum err writer_open(struct writer **out, uv_loop_t *loop, const struct store_options *options,
                              struct error *error);

/* Where the jobs take their turn. Whoever else of this process writes, on a connection of its own, takes its
 * turn there too: ticket_lock_acquire() before store_begin(), ticket_lock_release() after the commit. Lives
 * as long as the queue. */
struct ticket_lock *writer_lock(struct writer *w);

/* ERR_FULL when too many jobs wait, ERR_CANCELED after writer_close(); `done` is then not called. */
MUST_USE enum err writer_submit(struct writer *w, struct writer_job *job);

struct writer_counts {
    int waiting;                     /* the running one too */
    uint64_t failed;                 /* because of the database; what a job itself refuses is none */
    int64_t succeeded_ms, failed_ms; /* monotonic, of the last one; 0: none */
    struct metrics_times times;      /* from the beginning of the transaction to its end */
};
const struct writer_counts *writer_counts(const struct writer *w);

/* Lets waiting jobs run to their end, refuses new ones, then closes the connection and calls `closed` on the
 * loop. */
void writer_close(struct writer *w, void (*closed)(void *ctx), void *ctx);

#endif

/* The writer queue: every write for a request or for the event loop is a job in it. Jobs run one after the
 * other on libuv's thread pool, on the queue's own connection. The queue opens a transaction for each job and
 * commits it if the job returns OK. Jobs that write hold the same lock (writer_lock()) as the other writers
 * of the process (ticket_lock.h), so they never compete for SQLite's write lock; other processes may. */
#ifndef VT_STORE_WRITER_H
#define VT_STORE_WRITER_H

#include "base/error.h"
#include "base/metrics.h"
#include "store/store.h"

#include <uv.h>

struct ticket_lock;
struct writer;

/* A job. The caller owns its memory, which must stay valid until `done` is called. `done` is called
 * exactly once, on the loop thread, after writer_submit() has returned. */
struct writer_job {
    /* Called on a pool thread, in a transaction. OK commits it; any other result rolls it back. After a
     * deadlock, the queue runs it again in a new transaction (store_should_repeat()), so it must not depend
     * on what an earlier call has stored in the job. */
    enum err (*work)(struct writer_job *job, struct store *store);
    /* Called on the loop thread. If `err` is OK, the transaction is on disk. Otherwise nothing was written,
     * unless `err` is ERR_UNKNOWN_OUTCOME. */
    void (*done)(struct writer_job *job, enum err err);
    /* `work` writes nothing. It then runs in a read transaction, which no writer has to wait for, except the
     * jobs behind it in the queue. Its success does not show that the database can be written. */
    bool only_reads;
    struct writer_job *next; /* private to the queue */
};

/* Opens the queue and its connection (blocks). `options->mode` must be STORE_WRITE. */
MUST_USE enum err writer_open(struct writer **out, uv_loop_t *loop, const struct store_options *options,
                              struct error *error);

/* Returns the lock that each job holds. Other writers of this process that use their own connection must hold
 * it from store_begin() to store_commit(). It is valid until the queue is closed. */
struct ticket_lock *writer_lock(struct writer *w);

/* Adds a job to the queue. Returns ERR_FULL if the queue is full, or ERR_CANCELED if writer_close() was
 * called. After an error `done` is not called. */
MUST_USE enum err writer_submit(struct writer *w, struct writer_job *job);

struct writer_counts {
    int waiting;       /* number of jobs in the queue, including the running job */
    uint64_t failed;   /* jobs that failed after the database had reported a failure to them */
    int64_t failed_ms; /* monotonic time of the last job counted in `failed` */
    bool is_failing;   /* true if no job that writes has succeeded since `failed_ms` */
    struct metrics_duration_histogram times; /* duration of the write transactions */
};
/* Returns the counters. They are valid until writer_close(). */
const struct writer_counts *writer_counts(const struct writer *w);

/* Closes the queue: rejects new jobs, runs the waiting ones, closes the connection, and calls `closed` on the
 * loop thread. */
void writer_close(struct writer *w, void (*closed)(void *ctx), void *ctx);

#endif

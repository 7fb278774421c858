/* The writer queue.
 *
 *     IDLE    --writer_submit()-->                           RUNNING
 *     RUNNING --on_finished(), a job is waiting-->           RUNNING
 *     RUNNING --on_finished(), the queue is empty-->         IDLE, or CLOSING after writer_close()
 *     IDLE    --writer_close()-->                            CLOSING
 *     CLOSING --on_closed()-->                               freed
 *
 * There is one uv_work_t: the next job is queued when the previous one has returned to the loop thread. So
 * the queue occupies at most one thread of the pool, and jobs keep their order. */
#include "store/writer.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/handle.h"
#include "store/ticket_lock.h"
#include "store/write.h"

#include <stdlib.h>

/* The maximum number of waiting jobs. Further jobs are rejected, so that the queue does not grow without
 * limit while the database is slow. */
enum { WRITER_JOBS_MAX = 10000 };

struct writer {
    uv_loop_t *loop;
    struct store *store; /* the pool thread uses it while `busy` is true */
    struct ticket_lock *write_lock;
    uv_work_t work;
    bool busy;
    struct writer_job *first, **last; /* the running job is the first */

    /* The result of the running job, whether the database has made it fail, and its duration. */
    enum err result;
    bool database_failed;
    int64_t took_us;

    struct writer_counts counts;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

enum err writer_open(struct writer **out, uv_loop_t *loop, const struct store_options *options,
                     struct error *error)
{
    CHECK(options->mode == STORE_WRITE);
    struct writer *w = xcalloc(1, sizeof *w);
    enum err err = store_open(&w->store, options, error);
    if (err) {
        free(w);
        return err;
    }
    w->loop = loop;
    w->write_lock = ticket_lock_new();
    w->last = &w->first;
    w->work.data = w;
    *out = w;
    return OK;
}

static enum err work_in_snapshot(struct store *store, void *ctx)
{
    struct writer_job *job = ctx;
    return job->work(job, store);
}

static enum err run_once(struct store *store, struct writer_job *job)
{
    if (job->only_reads)
        return store_run_in_snapshot(store, work_in_snapshot, job);
    enum err err = store_begin(store);
    if (err)
        return err;
    err = job->work(job, store);
    if (!err)
        return store_commit(store);
    store_rollback(store);
    return err;
}

static enum err run_job(struct store *store, struct writer_job *job)
{
    int repeats = 0;
    enum err err;
    do
        err = run_once(store, job);
    while (err == ERR_BUSY && store_should_repeat(store, &repeats));
    return err;
}

static void on_work(uv_work_t *work)
{
    struct writer *w = work->data;
    const bool writes = !w->first->only_reads;
    if (writes)
        ticket_lock_acquire(w->write_lock);
    int64_t start_us = clock_work_us();
    uint64_t failures = store_get_failure_count(w->store);
    w->result = run_job(w->store, w->first);
    w->database_failed = w->result && store_get_failure_count(w->store) > failures;
    w->took_us = clock_work_us() - start_us;
    if (writes)
        ticket_lock_release(w->write_lock);
}

static void on_close_work(uv_work_t *work)
{
    struct writer *w = work->data;
    store_close(w->store);
}

static void on_closed(uv_work_t *work, int status)
{
    struct writer *w = work->data;
    CHECK(status == 0);
    void (*closed)(void *ctx) = w->closed;
    void *ctx = w->closed_ctx;
    ticket_lock_free(w->write_lock);
    free(w);
    closed(ctx);
}

static void on_finished(uv_work_t *work, int status);

static void run_next(struct writer *w)
{
    int code = 0;
    if (w->busy)
        return;
    if (w->first)
        code = uv_queue_work(w->loop, &w->work, on_work, on_finished);
    else if (w->closed)
        code = uv_queue_work(w->loop, &w->work, on_close_work, on_closed);
    else
        return;
    w->busy = true;
    CHECK(code == 0);
}

static void count_job(struct writer *w, const struct writer_job *job)
{
    struct writer_counts *c = &w->counts;
    if (!job->only_reads)
        metrics_observe(&c->times, w->took_us);
    c->waiting--;
    c->failed += w->database_failed;
    if (w->database_failed) {
        c->failed_ms = clock_mono_ms();
        c->is_failing = true;
    } else if (!w->result && !job->only_reads) {
        c->is_failing = false;
    }
}

static void on_finished(uv_work_t *work, int status)
{
    struct writer *w = work->data;
    struct writer_job *job = w->first;
    enum err result = w->result;
    CHECK(status == 0 && job);
    w->first = job->next;
    if (!w->first)
        w->last = &w->first;
    count_job(w, job);
    w->busy = false;
    /* Start the next job before calling `done`, which may free this job or submit others. */
    run_next(w);
    job->done(job, result);
}

struct ticket_lock *writer_lock(struct writer *w)
{
    return w->write_lock;
}

enum err writer_submit(struct writer *w, struct writer_job *job)
{
    if (w->closed)
        return ERR_CANCELED;
    if (w->counts.waiting == WRITER_JOBS_MAX)
        return ERR_FULL;
    job->next = NULL;
    *w->last = job;
    w->last = &job->next;
    w->counts.waiting++;
    run_next(w);
    return OK;
}

const struct writer_counts *writer_counts(const struct writer *w)
{
    return &w->counts;
}

void writer_close(struct writer *w, void (*closed)(void *ctx), void *ctx)
{
    CHECK(!w->closed);
    w->closed = closed;
    w->closed_ctx = ctx;
    run_next(w);
}

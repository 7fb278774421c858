/* The checkpointer: one timer, at most one job.
 *
 *     IDLE    --on_timer(): the log is long-->                 RUNNING
 *     RUNNING --on_finished()-->                               IDLE
 *     any     --checkpointer_close()-->                        CLOSING
 *     CLOSING --the job has ended, the timer is closed-->      freed
 *
 * SQLite restarts the log only if a writer finds that all of it is checkpointed. This never happens while one
 * write transaction follows another without a pause. So a job has two parts. First it copies most pages while
 * writers continue. Then it holds the write lock and copies the few pages that were written since. A reader
 * with an old snapshot blocks both parts. In this case, the checkpointer can only log that the log is too
 * long (report_length()). */
#include "store/checkpoint.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/ticket_lock.h"

#include <stdlib.h>

enum {
    TIMER_MS = 100,
    BUSY_TIMEOUT_MS = 250,
    PAUSE_MS = 1000, /* pause after a job that did not shorten the log; doubled each time */
    PAUSE_MAX_MS = 60 * 1000,
    ROUNDS = 3, /* rounds of the first part: in each, writers add fewer pages than in the previous one */
    PAGE_KIB = 4,
};

/* Numbers of pages in the log. START_PAGES: a job starts. REST_PAGES: the first part ends when at most this
 * many pages are left to copy. ALARM_PAGES: the log is reported as too long. */
#ifdef VT_TEST_SEAMS
enum { START_PAGES = 500, REST_PAGES = 500, ALARM_PAGES = 4000 };
#else
enum { START_PAGES = 4000, REST_PAGES = 2000, ALARM_PAGES = 32000 };
#endif

struct checkpointer {
    struct store *store; /* the pool thread uses it while `busy` is true */
    struct ticket_lock *write_lock;
    uv_timer_t timer;
    uv_work_t work;
    bool busy;
    enum err result;         /* of the running job */
    int64_t took_us;         /* of the running job */
    int64_t not_before_mono; /* earliest start of the next job, in ms of the monotonic clock */
    int64_t pause_ms;        /* pause after the most recent job; 0 if that job shortened the log */
    struct checkpoint_counts counts;
    void (*closed)(void *ctx); /* the callback; not NULL while the checkpointer is closing */
    void *closed_ctx;
};

/* ---- the copy on a pool thread ---- */

/* The first part of the job. Sets `*all` to false if a reader prevented a round from copying all pages that
 * were in the log when the round began. */
static enum err copy_bulk(struct store *store, bool *all)
{
    struct store_log_state log = store_get_log_state(store);
    *all = true;
    for (int i = 0; i < ROUNDS && *all && (i == 0 || log.pending > REST_PAGES); i++) {
        const int64_t goal = log.pages;
        enum err err = store_checkpoint(store, CHECKPOINT_PASSIVE);
        if (err)
            return err;
        log = store_get_log_state(store);
        *all = log.pages < goal || log.pages - log.pending >= goal;
    }
    return OK;
}

static void on_work(uv_work_t *work)
{
    struct checkpointer *c = work->data;
    const int64_t start_us = clock_work_us();
    bool all;
    c->result = copy_bulk(c->store, &all);
    if (!c->result && all) {
        ticket_lock_acquire(c->write_lock);
        c->result = store_checkpoint(c->store, store_get_log_state(c->store).pages < ALARM_PAGES
                                                   ? CHECKPOINT_RESTART
                                                   : CHECKPOINT_TRUNCATE);
        ticket_lock_release(c->write_lock);
    }
    c->took_us = clock_work_us() - start_us;
}

/* ---- decisions on the loop thread ---- */

static void close_timer(struct checkpointer *c);

static void report_length(struct checkpointer *c)
{
    struct checkpoint_counts *n = &c->counts;
    const bool too_long = n->log.pages >= ALARM_PAGES;
    const long long mib = (long long)(n->log.pages * PAGE_KIB / 1024);
    if (too_long && !n->too_long)
        log_warn("store: the write-ahead log has %lld MiB and keeps growing: a long read (a backup, a "
                 "hanging process) prevents the checkpoint of the log, or the checkpoint fails (see the "
                 "errors before this line)",
                 mib);
    else if (n->too_long && !too_long)
        log_info("store: the write-ahead log is short again");
    n->too_long = too_long;
}

/* Returns true if a job must start. This includes a log that is too long but completely checkpointed, so that
 * a job truncates it: the next write would restart the log, but there may be no write for an hour. */
static bool needs_checkpoint(const struct store_log_state *log)
{
    return log->pending >= START_PAGES || log->pages >= ALARM_PAGES;
}

static void pause_longer(struct checkpointer *c)
{
    c->pause_ms = c->pause_ms ? 2 * c->pause_ms : PAUSE_MS;
    if (c->pause_ms > PAUSE_MAX_MS)
        c->pause_ms = PAUSE_MAX_MS;
    c->not_before_mono = clock_mono_ms() + c->pause_ms;
}

static void on_finished(uv_work_t *work, int status)
{
    struct checkpointer *c = work->data;
    CHECK(status == 0);
    c->busy = false;
    metrics_observe(&c->counts.times, c->took_us);
    c->counts.log = store_get_log_state(c->store);
    /* ERR_BUSY is not a failure: either another process is making a checkpoint, and copies the pages, or a
     * reader or writer did not finish, and this job has copied most of the pages. */
    const bool failed = c->result && c->result != ERR_BUSY;
    c->counts.failed += failed;
    c->counts.done += !failed;
    if (failed || needs_checkpoint(&c->counts.log))
        pause_longer(c);
    else
        c->pause_ms = 0;
    report_length(c);
    if (c->closed)
        close_timer(c);
}

static void on_timer(uv_timer_t *timer)
{
    struct checkpointer *c = timer->data;
    if (c->busy || c->closed)
        return;
    c->counts.log = store_get_log_state(c->store);
    if (c->counts.too_long)
        report_length(c);
    if (!needs_checkpoint(&c->counts.log) || clock_mono_ms() < c->not_before_mono)
        return;
    c->busy = true;
    CHECK(uv_queue_work(timer->loop, &c->work, on_work, on_finished) == 0);
}

/* ---- opening and closing ---- */

enum err checkpointer_open(struct checkpointer **out, uv_loop_t *loop, const char *path,
                           struct ticket_lock *write_lock, struct error *error)
{
    const struct store_options options = {
        .path = path, .mode = STORE_WRITE, .busy_timeout_ms = BUSY_TIMEOUT_MS, .checkpointed = true};
    struct checkpointer *c = xcalloc(1, sizeof *c);
    enum err err = store_open(&c->store, &options, error);
    if (err) {
        free(c);
        return err;
    }
    c->write_lock = write_lock;
    c->timer.data = c->work.data = c;
    CHECK(uv_timer_init(loop, &c->timer) == 0 &&
          uv_timer_start(&c->timer, on_timer, TIMER_MS, TIMER_MS) == 0);
    *out = c;
    return OK;
}

const struct checkpoint_counts *checkpointer_get_counts(const struct checkpointer *c)
{
    return &c->counts;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct checkpointer *c = handle->data;
    void (*closed)(void *ctx) = c->closed;
    void *ctx = c->closed_ctx;
    store_close(c->store);
    free(c);
    closed(ctx);
}

static void close_timer(struct checkpointer *c)
{
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

void checkpointer_close(struct checkpointer *c, void (*closed)(void *ctx), void *ctx)
{
    CHECK(!c->closed);
    c->closed = closed;
    c->closed_ctx = ctx;
    if (!c->busy)
        close_timer(c);
}

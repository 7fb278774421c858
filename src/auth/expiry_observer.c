/* A timer and one writer job. */
#include "auth/expiry_observer.h"

#include "base/check.h"
#include "base/log.h"
#include "store/stored_floor.h"

#include <stdlib.h>

/* The timer of libuv has a clock of its own; the interval is counted on the clock that tests can set. */
enum { TICK_MS = 1000 };
#define INTERVAL_MS MINUTE_MS

struct expiry_observer {
    struct writer_job job; /* first: a job is its keeper */
    struct writer *writer;
    uv_timer_t timer;
    bool is_writing, is_failing, is_reported;
    int64_t due_ms;           /* monotonic */
    int64_t observed_mono_ms; /* the last successful observation; 0: none */
    /* Of the running job. */
    int64_t wall_ms, mono_ms;
    struct expiry_state state;
};

static enum err observe(struct writer_job *job, struct store *store)
{
    struct expiry_observer *k = (struct expiry_observer *)job;
    int64_t elapsed_ms = k->observed_mono_ms ? k->mono_ms - k->observed_mono_ms : 0;
    enum err err = store_get_expiry(store, &k->state);
    if (err)
        return err;
    expiry_observe(&k->state, k->wall_ms, expiry_floor_ms(), elapsed_ms);
    return store_put_expiry(store, &k->state);
}

static void report(struct expiry_observer *k)
{
    const bool differs = k->state.ahead_wall_ms || k->state.floor_ms - k->wall_ms > EXPIRY_JUMP_MS;
    if (differs && !k->is_reported && k->state.ahead_wall_ms)
        log_warn("the wall clock is more than an hour ahead of the time known from this database; what has "
                 "expired is deleted only after 24 hours of this; if the clock is wrong, set it back");
    else if (differs && !k->is_reported)
        log_warn("the wall clock is more than an hour behind the time known from this database, which expiry "
                 "is decided by; check the clock of this machine");
    k->is_reported = differs;
}

static void observed(struct writer_job *job, enum err err)
{
    struct expiry_observer *k = (struct expiry_observer *)job;
    k->is_writing = false;
    if (err && err != ERR_CANCELED && !k->is_failing)
        log_warn("the time that expiry is decided by cannot be stored: %s; retrying every minute",
                 err_name(err));
    k->is_failing = err != OK;
    if (err)
        return;
    k->observed_mono_ms = k->mono_ms;
    expiry_raise_floor(k->state.floor_ms, k->mono_ms);
    report(k);
}

static void tick(struct expiry_observer *k)
{
    int64_t now_ms = clock_mono_ms();
    if (k->is_writing || now_ms < k->due_ms)
        return;
    k->due_ms = now_ms + INTERVAL_MS;
    k->mono_ms = now_ms;
    k->wall_ms = clock_wall_ms();
    k->job = (struct writer_job){.work = observe, .done = observed};
    k->is_writing = writer_submit(k->writer, &k->job) == OK;
}

static void on_timer(uv_timer_t *timer)
{
    tick(timer->data);
}

struct expiry_observer *expiry_observer_new(uv_loop_t *loop, struct writer *writer)
{
    struct expiry_observer *k = xcalloc(1, sizeof *k);
    k->writer = writer;
    k->due_ms = INT64_MIN;
    CHECK(uv_timer_init(loop, &k->timer) == 0);
    k->timer.data = k;
    uv_unref((uv_handle_t *)&k->timer);
    CHECK(uv_timer_start(&k->timer, on_timer, TICK_MS, TICK_MS) == 0);
    tick(k);
    return k;
}

void expiry_observer_close(struct expiry_observer *k)
{
    if (k && !uv_is_closing((uv_handle_t *)&k->timer))
        uv_close((uv_handle_t *)&k->timer, NULL);
}

void expiry_observer_free(struct expiry_observer *k)
{
    free(k);
}

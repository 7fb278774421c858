/* A timer that submits one writer job at a time. */
#include "auth/expiry_observer.h"

#include "base/check.h"
#include "base/log.h"
#include "store/stored_floor.h"

#include <stdlib.h>

/* How often the timer checks whether a minute has passed by clock_mono_ms(). Tests change that clock, but not
 * the clock of libuv. So a libuv timer of one minute would not expire when a test moves the clock. */
enum { TICK_MS = 1000 };
#define INTERVAL_MS MINUTE_MS

struct expiry_observer {
    struct writer_job job; /* must be the first member */
    struct writer *writer;
    uv_timer_t timer;
    bool is_running, is_failing, is_reported;
    int64_t due_ms;           /* when the next observation is due; monotonic */
    int64_t observed_mono_ms; /* monotonic time of the last successful observation; 0 if none */
    /* The members below belong to the running job. */
    int64_t wall_ms, mono_ms;
    struct expiry_state state;
};

static enum err observe_work(struct writer_job *job, struct store *store)
{
    struct expiry_observer *o = (struct expiry_observer *)job;
    int64_t elapsed_ms = o->observed_mono_ms ? o->mono_ms - o->observed_mono_ms : 0;
    enum err err = store_get_expiry_floor(store, &o->state);
    if (err)
        return err;
    expiry_observe(&o->state, o->wall_ms, expiry_floor_ms(), elapsed_ms);
    return store_put_expiry_floor(store, &o->state);
}

/* Logs one line when the wall clock begins to deviate from the floor by more than EXPIRY_JUMP_MS. */
static void report(struct expiry_observer *o)
{
    const bool is_ahead = o->state.ahead_wall_ms != 0;
    const bool is_behind = o->state.floor_ms - o->wall_ms > EXPIRY_JUMP_MS;
    if (is_ahead && !o->is_reported)
        log_warn("the wall clock is more than an hour ahead of the time stored in the database; if the clock "
                 "is wrong, correct it before this server has run for another %lld minutes; after that, data "
                 "that has expired by this clock is deleted",
                 (long long)((EXPIRY_ADOPT_MS - o->state.ahead_for_ms) / MINUTE_MS));
    else if (is_behind && !o->is_reported)
        log_warn("the wall clock is more than an hour behind the time stored in the database, which "
                 "determines what has expired; check the clock of this machine");
    o->is_reported = is_ahead || is_behind;
}

static void observe_done(struct writer_job *job, enum err err)
{
    struct expiry_observer *o = (struct expiry_observer *)job;
    o->is_running = false;
    if (err && err != ERR_CANCELED && !o->is_failing)
        log_warn("cannot store the time that determines what has expired: %s; trying again every minute",
                 err_name(err));
    o->is_failing = err != OK;
    if (err)
        return;
    o->observed_mono_ms = o->mono_ms;
    expiry_raise_floor(o->state.floor_ms, o->mono_ms);
    report(o);
}

static void observe_if_due(struct expiry_observer *o)
{
    int64_t now_ms = clock_mono_ms();
    if (o->is_running || now_ms < o->due_ms)
        return;
    o->due_ms = now_ms + INTERVAL_MS;
    o->mono_ms = now_ms;
    o->wall_ms = clock_wall_ms();
    o->job = (struct writer_job){.work = observe_work, .done = observe_done};
    o->is_running = writer_submit(o->writer, &o->job) == OK;
}

static void on_timer(uv_timer_t *timer)
{
    observe_if_due(timer->data);
}

struct expiry_observer *expiry_observer_new(uv_loop_t *loop, struct writer *writer)
{
    struct expiry_observer *o = xcalloc(1, sizeof *o);
    o->writer = writer;
    o->due_ms = INT64_MIN;
    CHECK(uv_timer_init(loop, &o->timer) == 0);
    o->timer.data = o;
    uv_unref((uv_handle_t *)&o->timer);
    CHECK(uv_timer_start(&o->timer, on_timer, TICK_MS, TICK_MS) == 0);
    observe_if_due(o);
    return o;
}

void expiry_observer_close(struct expiry_observer *o)
{
    if (o && !uv_is_closing((uv_handle_t *)&o->timer))
        uv_close((uv_handle_t *)&o->timer, NULL);
}

void expiry_observer_free(struct expiry_observer *o)
{
    free(o);
}

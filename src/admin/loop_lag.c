/* Measures the loop lag with a timer. */
#include "admin/loop_lag.h"

#include "base/check.h"

enum { INTERVAL_MS = 100 };

static void on_timer(uv_timer_t *timer);

static void start(struct loop_lag *lag)
{
    lag->due_ns = uv_hrtime() + INTERVAL_MS * UINT64_C(1000000);
    CHECK(uv_timer_start(&lag->timer, on_timer, INTERVAL_MS, 0) == 0);
}

/* Measures the delay of the timer. libuv timers use a cached time with a resolution of one millisecond, so a
 * delay of up to one millisecond is not lag. */
static void on_timer(uv_timer_t *timer)
{
    struct loop_lag *lag = timer->data;
    int64_t late_us = ((int64_t)uv_hrtime() - (int64_t)lag->due_ns) / 1000;
    metrics_observe(&lag->times, late_us);
    uv_update_time(timer->loop);
    start(lag);
}

void loop_lag_open(struct loop_lag *lag, uv_loop_t *loop)
{
    *lag = (struct loop_lag){0};
    CHECK(uv_timer_init(loop, &lag->timer) == 0);
    lag->timer.data = lag;
    uv_unref((uv_handle_t *)&lag->timer);
    start(lag);
}

void loop_lag_close(struct loop_lag *lag)
{
    uv_close((uv_handle_t *)&lag->timer, NULL);
}

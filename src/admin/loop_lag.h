/* Measures how long the loop is blocked: by how much a timer that should fire every 100 ms is late. A request
 * that arrives while the loop is blocked waits until the loop continues. */
#ifndef VT_ADMIN_LOOP_LAG_H
#define VT_ADMIN_LOOP_LAG_H

#include "base/metrics.h"

#include <uv.h>

struct loop_lag {
    uv_timer_t timer;
    uint64_t due_ns;
    struct metrics_duration_histogram times;
};

/* Starts to measure. The timer does not keep the loop alive. */
void loop_lag_open(struct loop_lag *lag, uv_loop_t *loop);

/* Stops measuring. The struct must stay valid until the loop has ended. */
void loop_lag_close(struct loop_lag *lag);

#endif

/* How late the loop is: a timer that should fire every 100 ms, and what is missing to that. What a request
 * has to wait when something else holds the loop. */
#ifndef VT_ADMIN_LOOP_LAG_H
#define VT_ADMIN_LOOP_LAG_H

#include "base/metrics.h"

#include <uv.h>

struct loop_lag {
    uv_timer_t timer;
    uint64_t due_ns;
    struct metrics_times times;
};

/* Does not keep the loop alive. */
void loop_lag_open(struct loop_lag *lag, uv_loop_t *loop);
/* The struct must stay until the loop has run on. */
void loop_lag_close(struct loop_lag *lag);

#endif

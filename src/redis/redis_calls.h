/* Redis calls with a waiter and a deadline (REDIS_DEADLINE_MS); hiredis has no deadlines. hiredis cannot
 * cancel a command either, so the record of a call that is late or canceled is only freed when its reply
 * arrives. */
#ifndef VT_REDIS_REDIS_CALLS_H
#define VT_REDIS_REDIS_CALLS_H

#include "base/list.h"
#include "redis/redis_connection.h"

struct redis_calls {
    uv_timer_t deadline; /* deadline of the oldest call; the owner closes the timer */
    struct list pending; /* calls that have no reply yet and are not late, oldest first */
    struct redis_counts counts;
    /* Called for each reply before the waiter completes, and once for all calls that become late at the same
     * time. `failure` is NULL if the call succeeded. Not called if a late or canceled call succeeds
     * afterwards. Not called if the connection is lost, because redis_connection reports the loss. */
    void (*ended)(void *ctx, const char *failure);
    void *ctx;
};

/* Initializes the struct and its timer. For `ended` see struct redis_calls. */
void redis_calls_init(struct redis_calls *calls, uv_loop_t *loop,
                      void (*ended)(void *ctx, const char *failure), void *ctx);

/* Sends a command. If out of memory, returns NEXT_MORE and does not change `*out`. Otherwise returns
 * NEXT_WAIT, and `w` completes when the reply arrives or the deadline expires. */
enum next redis_calls_start(struct redis_calls *calls, struct redis_connection *connection,
                            const struct str *args, int count, struct waiter *w, struct redis_result *out);

#endif

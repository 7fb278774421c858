/* Calls with a waiter. Each call has a deadline of REDIS_DEADLINE_MS, which hiredis does not provide. The
 * record of a call outlives its waiter, because hiredis cannot cancel a command: the late reply frees it. */
#ifndef VT_REDIS_REDIS_CALLS_H
#define VT_REDIS_REDIS_CALLS_H

#include "base/list.h"
#include "redis/redis_connection.h"

struct redis_calls {
    uv_timer_t deadline; /* of the oldest call; the owner closes it */
    struct list pending; /* calls without a reply that are not late, oldest first */
    struct redis_counts counts;
    /* Called for each reply, before its waiter completes, and once for all calls that become late together.
     * `failure` NULL: success. Not called when the connection is lost: redis_connection reports that. */
    void (*ended)(void *ctx, const char *failure);
    void *ctx;
};

void redis_calls_init(struct redis_calls *calls, uv_loop_t *loop,
                      void (*ended)(void *ctx, const char *failure), void *ctx);

/* NEXT_MORE if out of memory. */
enum next redis_calls_start(struct redis_calls *calls, struct redis_connection *connection,
                            const struct str *args, int count, struct waiter *w, struct redis_result *out);

#endif

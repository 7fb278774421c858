/* How hiredis is tied to the loop. What is said within one turn of the loop leaves in one write, straight
 * from redis_poll_write(); the loop is asked to watch for room in the socket only when there was none. */
#ifndef VT_REDIS_REDIS_POLL_H
#define VT_REDIS_REDIS_POLL_H

#include "base/error.h"

#include <stdbool.h>
#include <uv.h>

struct redisAsyncContext;

/* Once for a new context, which releases it when it is freed. `too_large` is called when the reply that is
 * being received takes more than REDIS_REPLY_BYTES_MAX; it gives the context up. */
enum { REDIS_REPLY_BYTES_MAX = 1 << 20 };
MUST_USE bool redis_poll_attach(struct redisAsyncContext *context, uv_loop_t *loop,
                                void (*too_large)(struct redisAsyncContext *context));

/* A reply is complete: what comes next belongs to another one. */
void redis_poll_reply_complete(struct redisAsyncContext *context);

/* Something was said that has not been written. */
bool redis_poll_wants_write(const struct redisAsyncContext *context);

/* Before the loop waits: writes what was said since. The context may be gone afterwards. */
void redis_poll_write(struct redisAsyncContext *context);

#endif

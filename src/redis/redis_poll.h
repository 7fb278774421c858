/* Connects a hiredis context to the loop. Commands are buffered until redis_poll_write() writes them all. The
 * loop watches the socket for writing only while the context connects and after an incomplete write. */
#ifndef VT_REDIS_REDIS_POLL_H
#define VT_REDIS_REDIS_POLL_H

#include "base/error.h"

#include <stdbool.h>
#include <uv.h>

struct redisAsyncContext;

/* Attaches a new context to the loop. Freeing the context detaches it. `too_large` is called if the reply
 * that is being received needs more than REDIS_REPLY_BYTES_MAX; it must free the context. Returns false if
 * out of memory. */
enum { REDIS_REPLY_BYTES_MAX = 1 << 20 };
MUST_USE bool redis_poll_attach(struct redisAsyncContext *context, uv_loop_t *loop,
                                void (*too_large)(struct redisAsyncContext *context));

/* Call when a reply is complete. Starts to count the bytes of the next reply, for the limit of its size. */
void redis_poll_reply_complete(struct redisAsyncContext *context);

/* Returns true if commands are buffered. */
bool redis_poll_wants_write(const struct redisAsyncContext *context);

/* Writes the buffered commands. The context may be freed during this call. */
void redis_poll_write(struct redisAsyncContext *context);

#endif

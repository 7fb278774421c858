/* Limit batches: one call of SCRIPT_LIMIT checks the rate limit for all requests of one loop iteration. */
#ifndef VT_LIMIT_LIMIT_BATCH_H
#define VT_LIMIT_LIMIT_BATCH_H

#include "base/uuid.h"
#include "limit/window.h"
#include "redis/redis.h"

struct limit_batcher;

struct limit_reply {
    bool ok;                      /* false if Redis is unavailable or late, or its reply is invalid */
    struct limit_verdict verdict; /* only if `ok` */
};

/* Called for each request of a batch for which Redis has sent a valid reply, even if the request was
 * canceled. Called before any waiter of the batch completes. `opened_ms` (monotonic) is when the batch was
 * opened; Redis checked the request at that time or later. */
typedef void limit_replied_fn(void *ctx, int64_t key_row, const struct limit_verdict *verdict,
                              int64_t opened_ms);

/* Creates a batcher and registers it with redis_set_before_wait(). `key_prefix` is copied. */
struct limit_batcher *limit_batcher_new(struct redis *redis, const char *key_prefix,
                                        limit_replied_fn *replied, void *ctx);

/* Frees the batcher and ignores the replies to batches in flight. Call before redis_close(). Precondition: no
 * waiter is armed. `b` may be NULL. */
void limit_batcher_free(struct limit_batcher *b);

/* Adds a request of the API key to the batch of this loop iteration. If Redis is unavailable, or if out of
 * memory, sets out->ok to false and returns NEXT_MORE. Otherwise returns NEXT_WAIT; at most REDIS_DEADLINE_MS
 * after the end of this iteration, `*out` is filled in and `w` completes. A request still counts toward the
 * limit if its waiter is canceled. */
enum next limit_batcher_add(struct limit_batcher *b, int64_t key_row, const struct uuid *key_id, int limit,
                            struct waiter *w, struct limit_reply *out);

#endif

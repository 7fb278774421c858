/* Limit batches: all requests of one loop iteration that Redis must judge share one call of SCRIPT_LIMIT. */
#ifndef VT_LIMIT_LIMIT_BATCH_H
#define VT_LIMIT_LIMIT_BATCH_H

#include "base/uuid.h"
#include "limit/window.h"
#include "redis/redis.h"

struct limit_batcher;

struct limit_reply {
    bool ok; /* false: Redis is unavailable or late, or its reply is invalid */
    struct limit_verdict verdict;
};

/* Called for each request of a batch before any waiter completes, also for canceled requests. The batch was
 * opened at `opened_ms` (monotonic), so Redis judged the request at that time or later. */
typedef void limit_replied_fn(void *ctx, int64_t key_row, const struct limit_verdict *verdict,
                              int64_t opened_ms);

/* Registers itself with redis_set_before_wait(). `key_prefix` is copied. */
struct limit_batcher *limit_batcher_new(struct redis *redis, const char *key_prefix,
                                        limit_replied_fn *replied, void *ctx);

/* Call before redis_close(). Drops batches in flight. Precondition: no waiter is armed. NULL is allowed. */
void limit_batcher_free(struct limit_batcher *b);

/* Adds a request of the API key to the batch of this loop iteration. NEXT_MORE with ok = false if Redis is
 * unavailable; else NEXT_WAIT: `w` completes with `*out` filled at most REDIS_DEADLINE_MS after the end of
 * this iteration. A canceled request still counts. */
enum next limit_batcher_add(struct limit_batcher *b, int64_t key_row, const struct uuid *key_id, int limit,
                            struct waiter *w, struct limit_reply *out);

#endif

/* The rate limit (decision 7). Redis holds the windows that all processes share. The windows of this process
 * (limit/window.h) decide if no Redis is configured, or if Redis is unavailable or late. After a rejection by
 * Redis, this process rejects further requests of the key itself, without a call to Redis, until the time
 * that Redis named, but for at most a second: `viewtally key limit --reset` takes effect within that second.
 */
#ifndef VT_LIMIT_LIMITER_H
#define VT_LIMIT_LIMITER_H

#include "limit/limit_batch.h"
#include "limit/window.h"

struct limiter;

/* What decided a request: no limit is configured; Redis; an earlier rejection by Redis; this process. */
enum limiter_source { LIMITER_OFF, LIMITER_REDIS, LIMITER_CACHED, LIMITER_PROCESS };
enum { LIMITER_SOURCES = 4 };

/* One request; zeroed, in the arena of the HTTP request. */
struct limiter_call {
    struct limit_verdict verdict; /* after limiter_decide() */
    enum limiter_source source;
    int64_t key_row, now_ms;
    struct limit_reply reply; /* of Redis */
};

/* `redis` may be NULL. */
struct limiter *limiter_new(int requests_per_minute, struct redis *redis, const char *key_prefix);
/* Call before redis_close(). Drops calls in flight; afterwards this process decides. */
void limiter_detach_redis(struct limiter *l);
void limiter_free(struct limiter *l);

void limiter_set_limit(struct limiter *l, int requests_per_minute);

/* Starts to judge one request of an API key at `now_ms` (monotonic). Once this returns NEXT_MORE or `w`
 * completes, call limiter_decide(), which sets the verdict. */
enum next limiter_acquire(struct limiter *l, int64_t key_row, const struct uuid *key_id, int64_t now_ms,
                          struct waiter *w, struct limiter_call *call);
void limiter_decide(struct limiter *l, struct limiter_call *call);

/* "off", "redis", "redis_cached", "process". */
const char *limiter_source_name(enum limiter_source source);

struct limiter_counts {
    unsigned long long admitted[LIMITER_SOURCES], rejected[LIMITER_SOURCES];
    int keys; /* that have a window in this process */
};
struct limiter_counts limiter_counts(const struct limiter *l);

#endif

/* The rate limit. Redis stores the windows that all processes share. If no Redis is configured, or if Redis
 * is unavailable or late, the limiter uses the windows of this process (limit/window.h) instead. When Redis
 * rejects a request, its reply contains the time until the key may make another one. During this time, but
 * for at most one second, the limiter rejects further requests of the key without a call to Redis. So
 * `viewtally key limit --reset` takes effect within one second. */
#ifndef VT_LIMIT_LIMITER_H
#define VT_LIMIT_LIMITER_H

#include "limit/limit_batch.h"
#include "limit/window.h"

struct limiter;

/* The source of a request's verdict. */
enum limiter_source {
    LIMITER_OFF,    /* no limit is configured */
    LIMITER_REDIS,  /* the window in Redis */
    LIMITER_CACHED, /* an earlier rejection by Redis */
    LIMITER_PROCESS /* the window of this process */
};
enum { LIMITER_SOURCES = 4 };

/* The check of one request, in the arena of the HTTP request. limiter_acquire() initializes it. */
struct limiter_call {
    struct limit_verdict verdict; /* set by limiter_decide() */
    enum limiter_source source;
    int64_t key_row, now_ms;
    struct limit_reply reply; /* the reply of Redis */
};

/* Creates a limiter. A limit of 0 means unlimited. `redis` is NULL if Redis is not configured. */
struct limiter *limiter_new(int requests_per_minute, struct redis *redis, const char *key_prefix);

/* Stops using Redis and ignores the replies to calls in flight. From then on, the limiter uses the windows of
 * this process. Call before redis_close(). */
void limiter_detach_redis(struct limiter *l);

/* Frees the limiter. If it uses Redis, call limiter_detach_redis() first. `l` may be NULL. */
void limiter_free(struct limiter *l);

/* Changes the limit; 0 means unlimited. */
void limiter_set_limit(struct limiter *l, int requests_per_minute);

/* Starts to check one request of an API key at `now_ms` (monotonic). When limiter_acquire() returns
 * NEXT_MORE, or when `w` completes, call limiter_decide(). */
enum next limiter_acquire(struct limiter *l, int64_t key_row, const struct uuid *key_id, int64_t now_ms,
                          struct waiter *w, struct limiter_call *call);

/* Sets call->verdict and call->source. */
void limiter_decide(struct limiter *l, struct limiter_call *call);

/* Returns "off", "redis", "redis_cached" or "process". The string is static. */
const char *limiter_source_name(enum limiter_source source);

struct limiter_counts {
    unsigned long long admitted[LIMITER_SOURCES], rejected[LIMITER_SOURCES];
    int keys; /* number of API keys that have a window in this process */
};
/* Returns the numbers of verdicts since the start, by source. */
struct limiter_counts limiter_get_counts(const struct limiter *l);

#endif

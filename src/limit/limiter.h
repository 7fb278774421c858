/* The rate limit of decision 7: Redis holds the windows that all processes share, and this process's own
 * windows (limit/window.h) answer when there is no Redis, when it is away or late, and, until the time it
 * named is over, for a key that it refused. */
#ifndef VT_LIMIT_LIMITER_H
#define VT_LIMIT_LIMITER_H

#include "limit/limit_batch.h"
#include "limit/window.h"

struct limiter;

enum limiter_source { LIMITER_OFF, LIMITER_REDIS, LIMITER_CACHED, LIMITER_PROCESS };
enum { LIMITER_SOURCES = 4 };

/* One question; zeroed, in the asking request's arena. */
struct limiter_call {
    struct limit_verdict verdict; /* after limit_verdict() */
    enum limiter_source source;
    int64_t key, now_ms;
    struct take_answer answer; /* of Redis */
};

/* `redis` NULL: in process. `key_prefix` is that of the configuration and must live as long as the limiter.
 */
struct limiter *limiter_new(int requests_per_minute, struct redis *redis, const char *key_prefix);
/* Before redis_close(): what was asked is given up, and from then on the process decides. */
void limiter_detach_redis(struct limiter *l);
void limiter_free(struct limiter *l);

void limiter_set_limit(struct limiter *l, int requests_per_minute);

/* Starts to take one request of the key at `now_ms` (monotonic). When what it returned is over,
 * limiter_decide() fills the verdict. */
enum next limiter_acquire(struct limiter *l, int64_t key, int64_t now_ms, struct wait *w,
                          struct limiter_call *call);
void limiter_decide(struct limiter *l, struct limiter_call *call);

/* "off", "redis", "redis_cached", "process". */
const char *limiter_source_name(enum limiter_source source);

struct limiter_counts {
    unsigned long long admitted[LIMITER_SOURCES], refused[LIMITER_SOURCES];
    int keys; /* with a window in this process */
};
struct limiter_counts limiter_counts(const struct limiter *l);

#endif

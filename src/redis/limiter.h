/* The rate limit of decision 7, exact: a request is admitted iff fewer than `limit` requests of its key were
 * admitted in the last 60,000 ms. Refused requests are not recorded. The window of this process, on the
 * monotonic clock. Memory: 8 bytes for each admitted request of the last minute, at most `limit` a key; keys
 * that were quiet for a minute are forgotten. */
#ifndef VT_REDIS_LIMITER_H
#define VT_REDIS_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

struct limiter;

struct limiter_verdict {
    bool admitted;
    int limit;        /* 0: there is no limit */
    int remaining;    /* requests that would be admitted right now */
    int64_t reset_ms; /* until the oldest counted request leaves the window; 0 when none is counted */
};

/* `limit` requests a minute; 0 admits everything. */
struct limiter *limiter_new(int limit);
void limiter_free(struct limiter *l);

/* Counts one request of the key at `now_ms` (monotonic) if it is admitted. */
struct limiter_verdict limiter_take(struct limiter *l, int64_t key, int64_t now_ms);

/* Keys held at the moment. */
int limiter_key_count(const struct limiter *l);

#endif

/* Decides how fast an API is called: token buckets, calls spread over the run, concurrency, pauses, retry
 * delays. Pure arithmetic; `now` is the monotonic clock in ms. */
#ifndef VT_FETCH_PACE_H
#define VT_FETCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_NEVER INT64_MAX /* a call may begin only after another call has ended */

/* ---- token bucket ---- */

struct bucket {
    int per_minute; /* 0: unlimited */
    int burst;
    int64_t level; /* content in 60,000ths of a call; each millisecond adds `per_minute` of these */
    int64_t at;    /* when `level` was computed */
};

/* Initializes a full bucket. */
void bucket_init(struct bucket *b, int per_minute, int burst, int64_t now);

/* Returns the time from which the next call may begin. If `half_rate` is true, the rate is halved. */
int64_t bucket_ready_at(const struct bucket *b, bool half_rate, int64_t now);
/* Removes one call from the bucket. */
void bucket_use(struct bucket *b, bool half_rate, int64_t now);

/* ---- calls spread evenly over a period ---- */

struct spread {
    int64_t until; /* end of the period */
    int64_t planned, begun;
    int64_t last; /* when the most recent call was due; initially the start of the period */
};

/* Begins a period of `length_ms` for `planned` calls. */
void spread_init(struct spread *s, int64_t now, int64_t length_ms, int64_t planned);

/* Returns the time at which the next call is due. The remaining time is divided evenly among the remaining
 * calls. Calls beyond the plan are due immediately. If `half_rate` is true, the intervals are twice as
 * long. */
int64_t spread_ready_at(const struct spread *s, bool half_rate);

/* Counts a call. After a delay, the calls that were due in the last second become due immediately. The others
 * are spread over the remaining time, at shorter intervals. */
void spread_begin(struct spread *s, bool half_rate, int64_t now);

/* ---- retries ---- */

/* RETRY_TRIES is the maximum number of attempts per batch, RETRY_MIN the smallest retry budget of a run. */
enum { RETRY_TRIES = 3, RETRY_BASE_MS = 1000, RETRY_CAP_MS = 60000, RETRY_MIN = 10 };

/* Returns a random delay between 0 and min(cap, base * 2^tries), known as full jitter. `tries` is 0 after the
 * first failed attempt. */
int64_t retry_delay_ms(int tries, uint64_t random);

/* Returns the number of retries that a run with `planned` calls may make. It is at least RETRY_MIN, unless
 * `percent` is 0. */
int64_t retry_budget(int64_t planned, int64_t percent);

/* ---- the pace of one API ---- */

struct pace {
    struct bucket bucket;
    struct spread spread;
    int in_flight, in_flight_max;
    bool half_rate; /* the platform reports that the app or an account has used most of its rate limit */
    int64_t paused_until;         /* no call begins before this time */
    int64_t retries, retries_max; /* number of retries in this run, and its limit */
};

/* Returns the time from which the next call may begin. Returns PACE_NEVER if no call may begin before another
 * call has ended. */
int64_t pace_ready_at(const struct pace *p, int64_t now);
void pace_begin(struct pace *p, int64_t now);
void pace_end(struct pace *p);

/* Pauses all calls until `until`. Never shortens a pause. */
void pace_pause(struct pace *p, int64_t until);

#endif

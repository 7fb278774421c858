/* How fast an API is asked: token buckets, calls spread over the run, calls at once, pauses, repeats. Pure
 * arithmetic on the clocks it is given: `now` is the monotonic clock in ms. It does not know what a call is.
 */
#ifndef VT_FETCH_PACE_H
#define VT_FETCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_NEVER INT64_MAX /* "not before something else has happened" */

/* ---- a token bucket ---- */

struct bucket {
    int per_minute; /* 0: no limit */
    int burst;
    int64_t level; /* in 60,000ths of a call, so that a millisecond brings per_minute of them */
    int64_t at;
};

void bucket_init(struct bucket *b, int per_minute, int burst, int64_t now);

/* The moment from which on a call may begin: <= now means now. `half`: at half the rate. */
int64_t bucket_ready_at(const struct bucket *b, bool half, int64_t now);
void bucket_take(struct bucket *b, bool half, int64_t now);

/* ---- calls spread evenly over a time ---- */

struct spread {
    int64_t until; /* when the last one begins */
    int64_t planned, begun;
    int64_t last; /* the moment that the last one was due at; at first that of the start */
};

void spread_init(struct spread *s, int64_t now, int64_t length_ms, int64_t planned);

/* What is left of the calls has equal parts of what is left of the time; calls above the plan are due at
 * once. `half`: parts twice as long. */
int64_t spread_ready_at(const struct spread *s, bool half);

/* Who was kept from beginning makes up for a second of it at most. */
void spread_begin(struct spread *s, bool half, int64_t now);

/* ---- repeats ---- */

enum { RETRY_TRIES = 3, RETRY_BASE_MS = 1000, RETRY_CAP_MS = 60000, RETRY_LEAST = 10 };

/* Full jitter: between 0 and min(cap, base * 2^tries), by the random number. `tries`: that were made. */
int64_t retry_delay_ms(int tries, uint64_t random);

/* How many repeats a run may make of so many planned calls; at least RETRY_LEAST unless percent is 0. */
int64_t retry_budget(int64_t planned, int64_t percent);

/* ---- an API ---- */

enum { USAGE_HALF = 80, USAGE_PAUSE = 95, USAGE_PAUSE_MS = 600000 };

struct pace {
    struct bucket bucket;
    struct spread spread;
    int in_flight, in_flight_max;
    bool half; /* the platform says that little is left */
    int64_t paused_until;
    int64_t retries, retries_max;
};

/* When the next call may begin, as far as this knows; PACE_NEVER: not before one has ended. */
int64_t pace_ready_at(const struct pace *p, int64_t now);
void pace_begin(struct pace *p, int64_t now);
void pace_end(struct pace *p);

void pace_pause(struct pace *p, int64_t until); /* never shortens a pause */

#endif

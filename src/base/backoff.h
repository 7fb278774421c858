/* Computes the pauses between attempts to connect. The maximum pause is 100 ms at first and doubles after
 * each attempt, up to 5 s. Each pause is a random value between half the maximum and the maximum, so that
 * many processes do not reconnect at the same time. */
#ifndef VT_BASE_BACKOFF_H
#define VT_BASE_BACKOFF_H

#include <stdint.h>

struct backoff {
    int ms;          /* the maximum of the next pause */
    uint64_t random; /* state of the random generator; the owner sets it to a seed */
};

/* Resets the maximum pause to 100 ms. Call before the first backoff_next(). */
void backoff_reset(struct backoff *b);

/* Returns the pause before the next attempt, in ms, and doubles the maximum. */
int backoff_next(struct backoff *b);

#endif

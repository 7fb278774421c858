/* Pauses between attempts: 100 ms, doubled after each attempt up to 5 s. Each pause is a random value between
 * half of that and all of it, so that many processes do not reconnect at the same time. */
#ifndef VT_REDIS_BACKOFF_H
#define VT_REDIS_BACKOFF_H

#include <stdint.h>

struct backoff {
    int ms;
    uint64_t random; /* the caller seeds it */
};

/* Starts with the shortest pause again. */
void backoff_reset(struct backoff *b);

/* Returns the pause before the next attempt in ms. */
int backoff_next(struct backoff *b);

#endif

/* Pauses between attempts: 100 ms, doubled after each up to 5 s. Each is half to whole of that by chance, so
 * that many processes do not come back in step. */
#ifndef VT_REDIS_BACKOFF_H
#define VT_REDIS_BACKOFF_H

#include <stdint.h>

struct backoff {
    int ms;
    uint64_t random;
};

/* Begins with the shortest pause (again). */
void backoff_reset(struct backoff *b);

/* The pause before the next attempt, ms. */
int backoff_next(struct backoff *b);

#endif

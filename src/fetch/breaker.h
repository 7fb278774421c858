/* A breaker for each API: an API that only fails is left alone for a while, then tried with one call.
 *
 *   CLOSED  --20 failures in a row, or more than half of 50 calls-->  OPEN for 5, 10, 20, 40, 60 min
 *   OPEN    --the time is over, breaker_begin()-->                    PROBING, one call
 *   PROBING --breaker_end(good)--> CLOSED    --breaker_end(bad)--> OPEN, for longer
 *
 * It outlives a run, so `now` is the wall clock; what a clock that is set can do to it is an hour. */
#ifndef VT_FETCH_BREAKER_H
#define VT_FETCH_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum { BREAKER_IN_A_ROW = 20, BREAKER_WINDOW = 50 };

struct breaker {
    int level;     /* how often it opened without a success since */
    int64_t until; /* 0: closed */
    bool probing;
    int in_a_row;
    uint64_t window; /* of the last calls, newest in bit 0: 1 failed */
    int window_count;
};

/* As it was left by an earlier run; level 0: closed. */
void breaker_restore(struct breaker *b, int level, int64_t until, int64_t now);

/* When a call may begin: <= now means now; INT64_MAX: not before the probe has ended. */
int64_t breaker_ready_at(const struct breaker *b, int64_t now);

void breaker_begin(struct breaker *b);

/* `good`: the platform answered like itself, whatever it said. True: it opened or closed. */
bool breaker_end(struct breaker *b, bool good, int64_t now);

/* A call that ended without an answer through no fault of the platform. */
void breaker_forget(struct breaker *b);

#endif

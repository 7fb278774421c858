/* A circuit breaker per API.
 *
 *   CLOSED  --20 failures in a row, or more than half of 50 calls-->  OPEN for 5, 10, 20, 40, 60 min
 *   OPEN    --that time has passed, breaker_begin()-->                PROBING, one call
 *   PROBING --breaker_end(good)--> CLOSED    --breaker_end(bad)--> OPEN, for longer
 *
 * The state outlives a run, so `now` is the wall clock. A clock that is set back keeps the circuit open for
 * at most an hour. */
#ifndef VT_FETCH_BREAKER_H
#define VT_FETCH_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum { BREAKER_IN_A_ROW = 20, BREAKER_WINDOW = 50 };

struct breaker {
    int level;     /* how many times the circuit opened since the last success */
    int64_t until; /* open until then; 0: closed */
    bool probing;
    int in_a_row;
    uint64_t window; /* the last calls, the newest in bit 0; 1: failed */
    int window_count;
};

/* Restores the state that an earlier run saved; level 0: closed. */
void breaker_restore(struct breaker *b, int level, int64_t until, int64_t now);

/* When a call may begin: at once if <= now; INT64_MAX: after the probe has ended. */
int64_t breaker_ready_at(const struct breaker *b, int64_t now);

void breaker_begin(struct breaker *b);

/* `good`: the platform sent a valid response, even if it refused the call. Returns true if the circuit opened
 * or closed. */
bool breaker_end(struct breaker *b, bool good, int64_t now);

/* Ends a call that had no response and was not the platform's fault. */
void breaker_cancel(struct breaker *b);

#endif

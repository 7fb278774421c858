/* A circuit breaker per API.
 *
 *   CLOSED    --20 failures in a row, or 26 failures in 50 calls-->       OPEN for 5, 10, 20, 40, 60 min
 *   OPEN      --that time has passed, breaker_begin()-->                  HALF-OPEN, one call: the probe
 *   HALF-OPEN --breaker_end(good)--> CLOSED    --breaker_end(bad)--> OPEN, for longer
 *
 * The state outlives a run, so `now` is the wall clock. If the clock is set back, the circuit stays open for
 * at most an hour. */
#ifndef VT_FETCH_BREAKER_H
#define VT_FETCH_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum { BREAKER_IN_A_ROW = 20, BREAKER_WINDOW = 50 };

struct breaker {
    int level;         /* number of times that the circuit has opened since it was last closed, at most 5 */
    int64_t until;     /* when the circuit may be probed; 0: the circuit is closed */
    const void *probe; /* the call that probes, while it is in flight; NULL: none */
    int in_a_row;      /* number of consecutive failed calls */
    uint64_t window;   /* results of the last BREAKER_WINDOW calls, the newest in bit 0; a set bit is a failed
                          call */
    int window_count;
};

/* Restores the state that an earlier run saved. Level 0 means closed. */
void breaker_restore(struct breaker *b, int level, int64_t until, int64_t now);

/* Returns the time from which a call may begin. Returns INT64_MAX if a probe is in flight, because no other
 * call may begin before the probe has ended. */
int64_t breaker_ready_at(const struct breaker *b, int64_t now);

/* Begins a call, which `call` identifies until it ends. If the circuit is open and its time has passed, the
 * call is the probe. A call that begins too early, such as a call that is repeated after a token refresh, is
 * not a probe. */
void breaker_begin(struct breaker *b, const void *call, int64_t now);

/* Ends a call. `good` is true if the platform sent a valid response, even one that refused the call; a
 * throttled call (OUTCOME_RETRY) is not good. While the circuit is open, only the result of the probe
 * matters. Returns true if the circuit has opened or closed. */
bool breaker_end(struct breaker *b, const void *call, bool good, int64_t now);

/* Ends a call that got no response for a reason unrelated to the platform. Such a call does not count. */
void breaker_cancel(struct breaker *b, const void *call);

#endif

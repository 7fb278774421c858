/* Slows guessing down: counts failures by a name (a network, an app, an account) in the memory of this
 * process, and says how long the name has to wait. Needs nothing that could be missing, so it never fails
 * open.
 *
 * A name may fail `burst` times at once, and one failure is forgotten every `decay_ms`. Above that
 *   wait_ms = 0: it waits until the next failure is forgotten, so it has one try every decay_ms;
 *   else:        it waits wait_ms, doubled with each further failure up to wait_max_ms.
 *
 * Memory is fixed. When there is no room for a new name, the one that would be forgotten first makes room:
 * names that somebody sprays do not displace a name that waits. Times are monotonic, and the caller's. */
#ifndef VT_AUTH_FAILURE_LIMITER_H
#define VT_AUTH_FAILURE_LIMITER_H

#include "base/str.h"

#include <stdint.h>

struct failure_rule {
    int burst;
    int64_t decay_ms, wait_ms, wait_max_ms;
};

struct failure_limiter;
struct failure_limiter *failure_limiter_new(const struct failure_rule *rule);
void failure_limiter_free(struct failure_limiter *l);

/* 0: it may try. */
int64_t failure_limiter_wait_ms(const struct failure_limiter *l, struct str name, int64_t now_ms);

/* Counts a failure. */
void failure_limiter_record(struct failure_limiter *l, struct str name, int64_t now_ms);

/* A failure that was counted before its outcome was known was none: takes it back, and its wait. */
void failure_limiter_undo(struct failure_limiter *l, struct str name, int64_t now_ms);

/* Forgets all failures of the name. */
void failure_limiter_clear(struct failure_limiter *l, struct str name);

#endif

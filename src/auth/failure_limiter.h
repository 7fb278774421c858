/* Slows down guessing: counts failures per name (a network, an app, an account) in the memory of this process
 * and returns how long the name must wait. It has no dependency that could fail, so it never fails open.
 *
 * A name may fail `burst` times in a row, and one failure expires every `decay_ms`. Above `burst`
 *   if wait_ms is 0, it waits until the next failure expires: one attempt every decay_ms;
 *   else it waits wait_ms, doubled by each further failure up to wait_max_ms.
 *
 * Memory is fixed. If there is no room for a new name, the entry whose failures expire first is replaced, so
 * spraying names does not displace a name that must wait. Times are monotonic and come from the caller. */
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

/* Returns how long the name must wait; 0: it may try now. */
int64_t failure_limiter_wait_ms(const struct failure_limiter *l, struct str name, int64_t now_ms);

void failure_limiter_record(struct failure_limiter *l, struct str name, int64_t now_ms);

/* Removes one recorded failure and ends the wait: for an attempt that was recorded before its outcome, and
 * then succeeded. */
void failure_limiter_undo(struct failure_limiter *l, struct str name, int64_t now_ms);

/* Removes all failures of the name. */
void failure_limiter_clear(struct failure_limiter *l, struct str name);

#endif

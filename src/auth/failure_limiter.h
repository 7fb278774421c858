/* Counts failures by name, a string that the caller chooses, such as an account or a network. A name may fail
 * `burst` times without waiting. Every `decay_ms`, one failure of the name expires. After `burst` failures,
 * the name has to wait:
 *
 *   wait_ms = 0   until one of its failures expires: one attempt every `decay_ms`
 *   wait_ms > 0   `wait_ms`, doubled by each further failure, at most `wait_max_ms`
 *
 * All times are monotonic; the caller passes the current time. */
#ifndef VT_AUTH_FAILURE_LIMITER_H
#define VT_AUTH_FAILURE_LIMITER_H

#include "base/str.h"

#include <stdint.h>

struct failure_rule {
    int burst;
    int64_t decay_ms, wait_ms, wait_max_ms;
};

struct failure_limiter;

/* Creates a limiter. `rule` is copied. */
struct failure_limiter *failure_limiter_new(const struct failure_rule *rule);
void failure_limiter_free(struct failure_limiter *l);

/* Returns how long the name must wait before its next attempt; 0 if it need not wait. */
int64_t failure_limiter_wait_ms(const struct failure_limiter *l, struct str name, int64_t now_ms);

/* Records a failure of the name. */
void failure_limiter_record(struct failure_limiter *l, struct str name, int64_t now_ms);

/* Removes one failure of the name and ends its wait. Call if an attempt was recorded as a failure in advance,
 * and then did not fail. */
void failure_limiter_undo(struct failure_limiter *l, struct str name, int64_t now_ms);

/* Removes all failures of the name. */
void failure_limiter_clear(struct failure_limiter *l, struct str name);

#endif

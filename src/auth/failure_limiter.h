/* Slows down the guessing of secrets. Counts failed attempts per name (of a network, an app or an account)
 * and computes how long a name must wait before its next attempt. The counts are in the memory of this
 * process, so the limiter works even if the database or Redis is unavailable.
 *
 * A name may fail `burst` times without waiting, and one of its failures expires every `decay_ms`. After
 * `burst` failures: if wait_ms is 0, the name waits until the next failure expires, which allows one attempt
 * every decay_ms. Otherwise it waits wait_ms, doubled by each further failure up to wait_max_ms.
 *
 * The number of names is limited. If there is no room for a new name, it replaces the name whose failures
 * expire first. So an attacker who uses many names cannot remove a name that must wait. All times are
 * monotonic; the caller passes the current time. */
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
 * and then succeeded. */
void failure_limiter_undo(struct failure_limiter *l, struct str name, int64_t now_ms);

/* Removes all failures of the name. */
void failure_limiter_clear(struct failure_limiter *l, struct str name);

#endif

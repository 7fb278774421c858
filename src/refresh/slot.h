/* When the refresh is due, as arithmetic over the wall clock. Time is cut into slots (an hour from minute 55
 * to the next, or the interval of the simulated source); there is one whole run for each slot in which the
 * service is up, and one for all the slots that it slept through.
 *
 * The clock may be set: forward, one run catches up; back by up to two slots, nothing is repeated; further
 * back, the last run counts for nothing, or the refresh would stand still until the clock is there again. */
#ifndef VT_REFRESH_SLOT_H
#define VT_REFRESH_SLOT_H

#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

struct slot_rule {
    int64_t period_ms, offset_ms; /* slot n begins at offset + n x period */
    int64_t jitter_ms;            /* it is due up to so much later, by `seed` and n */
    uint64_t seed;                /* of this process */
};

struct slot_rule slot_rule_of(const struct config *config, uint64_t seed);

int64_t slot_of(const struct slot_rule *rule, int64_t t_ms);

/* From when on a run of slot n is due, ms. */
int64_t slot_due_at(const struct slot_rule *rule, int64_t slot);

/* Whether a run is due at `now` when the last whole one started at `last_ms` (TIME_NONE: none yet). */
bool slot_is_due(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms);

/* When one becomes due, or, when one is, since when (`now` when that cannot be told). */
int64_t slot_next(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms);

#endif

/* When the refresh is due: arithmetic over the wall clock. Time is divided into slots (from minute 55 of an
 * hour to that of the next, or the interval of the simulated source). Each slot during which the service is
 * up has one complete run; all slots that it missed have one together.
 *
 * If the clock is set forward, one run catches up. If it is set back by up to two slots, no run is repeated.
 * If it is set back further, the last run is ignored, or the refresh would pause until the clock is there
 * again. */
#ifndef VT_REFRESH_SLOT_H
#define VT_REFRESH_SLOT_H

#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

struct slot_rule {
    int64_t period_ms, offset_ms; /* slot n begins at offset + n * period */
    int64_t jitter_ms;            /* a run is due up to this much later, depending on `seed` and n */
    uint64_t seed;                /* of this process */
};

struct slot_rule slot_rule_of(const struct config *config, uint64_t seed);

/* The slot of a time. */
int64_t slot_of(const struct slot_rule *rule, int64_t t_ms);

/* When the run of the slot becomes due, ms. */
int64_t slot_due_at(const struct slot_rule *rule, int64_t slot);

/* Whether a run is due at `now_ms`. `last_ms`: start of the last complete run; TIME_NONE: none yet. */
bool slot_is_due(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms);

/* When the next run becomes due; if one is due already, since when (`now_ms` if that is unknown). */
int64_t slot_next(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms);

#endif

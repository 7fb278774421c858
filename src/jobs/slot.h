/* Computes when a job that repeats is due. Time is divided into slots of equal length, for example from
 * minute 55 of an hour to minute 55 of the next one. Each slot gets one complete run. After an outage, one
 * run makes up for all missed slots.
 *
 * If the clock is set forward, one run makes up for the skipped slots. If the clock is set back by up to two
 * slots, no run is repeated. If it is set back further, the last run is ignored, because otherwise the job
 * would pause until the clock reaches the time of the last run again. */
#ifndef VT_JOBS_SLOT_H
#define VT_JOBS_SLOT_H

#include <stdbool.h>
#include <stdint.h>

struct slot_rule {
    int64_t period_ms, offset_ms; /* slot n begins at offset_ms + n * period_ms */
    int64_t jitter_ms; /* maximum random delay of a run; the delay depends on `seed` and on the number of the
                          slot */
    uint64_t seed;     /* random, one per process */
};

/* Returns the slot that contains the time `t_ms`. */
int64_t slot_of(const struct slot_rule *rule, int64_t t_ms);

/* Returns when the run of the slot becomes due, in ms. */
int64_t slot_due_at(const struct slot_rule *rule, int64_t slot);

/* Returns true if a run is due at `now_ms`. `last_ms` is the start of the last complete run, or TIME_NONE. */
bool slot_is_due(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms);

/* Returns when the next run becomes due. If a run is already due, returns the time since which it has
 * been due, or `now_ms` if that time is unknown. */
int64_t slot_next(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms);

#endif

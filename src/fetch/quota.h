/* Daily quotas of an API. A day lasts from midnight to midnight in Los Angeles (Google's rule, and close
 * enough for other platforms). Pure arithmetic without a time zone database: it applies the daylight saving
 * rule that the United States has used since 2007. All times are wall clock, ms. */
#ifndef VT_FETCH_QUOTA_H
#define VT_FETCH_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the first midnight in Los Angeles after `now`. */
int64_t quota_next_midnight(int64_t now);

struct quota {
    int64_t units;           /* per day; 0: unlimited */
    int64_t reserve_percent; /* part of `units` that is available only at the end of the day */
    int64_t used;            /* units used on this day */
    int64_t resets_at;       /* the midnight that ends this day */
};

/* Initializes a quota of which no units are used. */
void quota_init(struct quota *q, int64_t units, int64_t reserve_percent, int64_t now);

/* Restores the number of units used before this run. The number is ignored if it belongs to another day. */
void quota_restore(struct quota *q, int64_t used, int64_t resets_at, int64_t now);

/* Starts the next day if `now` is past resets_at. */
void quota_roll_over(struct quota *q, int64_t now);

/* Returns the number of units that may be used now; INT64_MAX if unlimited. The reserve is available only at
 * the end of the day. For example, a reserve of 5 percent is available in the last 5 percent of the day. */
int64_t quota_left(const struct quota *q, int64_t now);

/* Returns the number of units that one run may use, so that runs every `period_ms` do not exhaust the quota
 * before midnight. */
int64_t quota_share(const struct quota *q, int64_t now, int64_t period_ms);

/* Counts one unit as used. */
void quota_use(struct quota *q);

/* Returns true if all units of the day are used, including the reserve. Returns false if unlimited. */
bool quota_is_spent(const struct quota *q, int64_t now);

/* Marks all units of the day as used. Call if the platform reports that the quota is exhausted before our own
 * count reaches the limit. */
void quota_mark_spent(struct quota *q);

#endif

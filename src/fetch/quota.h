/* Quotas of a day. A day is that of America/Los_Angeles, from midnight to midnight: Google's, and good enough
 * for others. Pure arithmetic: no time zone database, the rule of the United States since 2007. */
#ifndef VT_FETCH_QUOTA_H
#define VT_FETCH_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* The first midnight in Los Angeles after `now`, wall clock, ms. */
int64_t quota_next_midnight(int64_t now);

struct quota {
    int64_t units; /* of a day; 0: not counted */
    int64_t reserve_percent;
    int64_t used;
    int64_t resets_at;
};

void quota_init(struct quota *q, int64_t units, int64_t reserve_percent, int64_t now);

/* As an earlier run left it; of a day that is over nothing is left of it. */
void quota_restore(struct quota *q, int64_t used, int64_t resets_at, int64_t now);

/* Begins the next day when it is there. */
void quota_turn(struct quota *q, int64_t now);

/* Units that may be used now; INT64_MAX when they are not counted. The reserve counts as left only at the end
 * of the day, in the part of it that it is of the units. */
int64_t quota_left(const struct quota *q, int64_t now);

/* What of it one run of every `period_ms` may use, so that it lasts for the day. */
int64_t quota_share(const struct quota *q, int64_t now, int64_t period_ms);

void quota_take(struct quota *q);

/* Whether the whole quota of the day is used, the reserve included. False if it is not counted. */
bool quota_is_spent(const struct quota *q, int64_t now);

/* The platform says that nothing is left. */
void quota_spend_all(struct quota *q);

#endif

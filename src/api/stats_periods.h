/* The periods of a /stats response: days, calendar weeks or calendar months. Weeks begin on Monday. The first
 * and the last period are cut to the range. */
#ifndef VT_API_STATS_PERIODS_H
#define VT_API_STATS_PERIODS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum granularity { GRANULARITY_DAY, GRANULARITY_WEEK, GRANULARITY_MONTH };
enum { GRANULARITIES = 3 };

enum { PERIODS_MAX = 104 };

struct stats_periods {
    enum granularity granularity;
    int count;
    int32_t
        starts[PERIODS_MAX + 1]; /* first date of each period; starts[count] is the date after the range */
};

/* Returns the maximum number of periods in a response. */
int periods_max(enum granularity granularity);

/* Returns the first date of the default range that ends on `to`: 7 days, 8 weeks or 12 months. The last of
 * them contains `to`. */
int32_t periods_default_start(enum granularity granularity, int32_t to);

/* Splits the range into periods. Returns false if there are more than periods_max(). */
MUST_USE bool periods_init(struct stats_periods *p, enum granularity granularity, int32_t from, int32_t to);

/* Returns the index of the period that contains `date`, which must be in the range. */
int periods_find(const struct stats_periods *p, int32_t date);

#endif

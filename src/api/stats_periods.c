/* Splits a range of dates into calendar periods. */
#include "api/stats_periods.h"

#include "base/check.h"
#include "base/clock.h"

static const struct {
    int preset, max; /* the default number of periods, and the maximum */
} limits[GRANULARITIES] = {
    [GRANULARITY_DAY] = {7, 90}, [GRANULARITY_WEEK] = {8, 104}, [GRANULARITY_MONTH] = {12, 60}};

int periods_max(enum granularity granularity)
{
    return limits[granularity].max;
}

/* Returns the Monday of the week that contains `date`. 1970-01-01, which is day 0, was a Thursday. */
static int32_t monday_of(int32_t date)
{
    const int32_t weekday = ((date + 3) % 7 + 7) % 7;
    return date - weekday;
}

/* Returns the first date of the calendar period that contains `date`. */
static int32_t period_start(enum granularity granularity, int32_t date)
{
    switch (granularity) {
    case GRANULARITY_DAY: return date;
    case GRANULARITY_WEEK: return monday_of(date);
    case GRANULARITY_MONTH: return month_start(date);
    }
    return date;
}

/* Returns the first date of the calendar period after the one that contains `date`. */
static int32_t next_start(enum granularity granularity, int32_t date)
{
    enum { MONTH_DAYS_MAX = 31 };
    switch (granularity) {
    case GRANULARITY_DAY: return date + 1;
    case GRANULARITY_WEEK: return monday_of(date) + 7;
    case GRANULARITY_MONTH: return month_start(month_start(date) + MONTH_DAYS_MAX);
    }
    return date + 1;
}

int32_t periods_default_start(enum granularity granularity, int32_t to)
{
    int32_t from = period_start(granularity, to);
    for (int i = 1; i < limits[granularity].preset; i++)
        from = period_start(granularity, from - 1);
    return from;
}

bool periods_init(struct stats_periods *p, enum granularity granularity, int32_t from, int32_t to)
{
    CHECK(from <= to);
    *p = (struct stats_periods){.granularity = granularity};
    int32_t date = from;
    while (date <= to) {
        if (p->count == limits[granularity].max)
            return false;
        p->starts[p->count++] = date;
        date = next_start(granularity, date);
    }
    p->starts[p->count] = to + 1;
    return true;
}

int periods_find(const struct stats_periods *p, int32_t date)
{
    CHECK(date >= p->starts[0] && date < p->starts[p->count]);
    if (p->granularity == GRANULARITY_DAY)
        return date - p->starts[0];
    int low = 0, high = p->count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (p->starts[middle] <= date)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

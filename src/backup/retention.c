/* Selects the backups to keep by hour, day and week. */
#include "backup/retention.h"

#include "base/clock.h"

static int64_t hour_of(int64_t t_ms)
{
    return t_ms / HOUR_MS;
}

static int64_t day_of(int64_t t_ms)
{
    return date_of(t_ms);
}

/* Returns the number of the week that contains the time. Weeks begin on Monday; 1970-01-01 was a Thursday. */
static int64_t week_of(int64_t t_ms)
{
    return (date_of(t_ms) + 3) / 7;
}

static void select_newest(const int64_t *times, size_t count, int64_t periods, int64_t (*period_of)(int64_t),
                          bool *keep)
{
    int64_t last = INT64_MIN;
    for (size_t i = count; i-- > 0 && periods > 0;) {
        const int64_t period = period_of(times[i]);
        if (period == last)
            continue;
        last = period;
        keep[i] = true;
        periods--;
    }
}

void retention_select(const struct retention *rule, const int64_t *times, size_t count, bool *keep)
{
    for (size_t i = 0; i < count; i++)
        keep[i] = i + 1 == count;
    select_newest(times, count, rule->hourly, hour_of, keep);
    select_newest(times, count, rule->daily, day_of, keep);
    select_newest(times, count, rule->weekly, week_of, keep);
}

/* Computes which posts are due: read intervals by age, and read intervals of missing posts. */
#include "fetch/read_interval.h"

#include "base/clock.h"
#include "store/model.h"

/* The time between two runs is not exactly one hour. So a missing post is due this many minutes early, and a
 * post that was not read in its hour is due this many minutes after the end of its interval. */
enum { SLACK_MINUTES = 30 };

enum age_class age_class_of(int64_t posted_at, int64_t now)
{
    const int64_t age = now - posted_at;
    if (age <= DAY_MS)
        return AGE_DAY;
    return age <= 7 * DAY_MS ? AGE_WEEK : AGE_OLDER;
}

int read_interval_hours(enum age_class age)
{
    static const int hours[AGE_CLASSES] = {1, 6, 24};
    return hours[age];
}

bool read_is_due(enum age_class age, uint64_t key, int64_t read_at, int64_t now)
{
    const int64_t hours = read_interval_hours(age);
    if (age == AGE_DAY || read_at == TIME_NONE)
        return true;
    if ((now / HOUR_MS + (int64_t)(key % (uint64_t)hours)) % hours == 0)
        return true;
    return now - read_at >= hours * HOUR_MS + SLACK_MINUTES * MINUTE_MS;
}

bool missing_is_daily(int misses, int64_t missed_since, int64_t now)
{
    return misses >= MISSES_UNTIL_DAILY && missed_since != TIME_NONE && now - missed_since >= DAY_MS;
}

bool missing_is_due(int misses, int64_t missed_since, int64_t requested_at, int64_t now)
{
    if (!missing_is_daily(misses, missed_since, now) || requested_at == TIME_NONE)
        return true;
    return now - requested_at >= DAY_MS - SLACK_MINUTES * MINUTE_MS || now < requested_at;
}

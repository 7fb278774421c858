/* The rungs. */
#include "fetch/read_interval.h"

#include "base/clock.h"
#include "store/model.h"

/* A run begins some minutes earlier or later than the one before: what was read a little less than its time
 * ago is due. */
enum { SLACK_MINUTES = 30 };

enum ladder_rung ladder_rung_of(int64_t posted_at, int64_t now)
{
    const int64_t age = now - posted_at;
    if (age <= DAY_MS)
        return RUNG_DAY;
    return age <= 7 * DAY_MS ? RUNG_WEEK : RUNG_MONTH;
}

int ladder_hours(enum ladder_rung rung)
{
    static const int hours[RUNGS] = {1, 6, 24};
    return hours[rung];
}

bool ladder_is_due(enum ladder_rung rung, uint64_t key, int64_t read_at, int64_t now)
{
    const int64_t hours = ladder_hours(rung);
    if (rung == RUNG_DAY || read_at == TIME_NONE)
        return true;
    if ((now / HOUR_MS + (int64_t)(key % (uint64_t)hours)) % hours == 0)
        return true;
    return now - read_at >= hours * HOUR_MS + SLACK_MINUTES * MINUTE_MS;
}

bool missing_is_daily(int misses, int64_t missed_since, int64_t now)
{
    return misses >= MISSES_UNTIL_DAILY && missed_since != TIME_NONE && now - missed_since >= DAY_MS;
}

bool missing_is_due(int misses, int64_t missed_since, int64_t asked_at, int64_t now)
{
    if (!missing_is_daily(misses, missed_since, now) || asked_at == TIME_NONE)
        return true;
    return now - asked_at >= DAY_MS - SLACK_MINUTES * MINUTE_MS || now < asked_at;
}

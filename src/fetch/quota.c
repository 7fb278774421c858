/* Computes the midnights in Los Angeles, and the units left until the next midnight. */
#include "fetch/quota.h"

#include "base/check.h"
#include "base/clock.h"

#include <string.h>

enum { WINTER_HOURS = 8, SUMMER_HOURS = 7, WEEK = 7, SUNDAY_OFFSET = 4 /* 1970-01-01 was a Thursday */ };

/* Returns the n-th Sunday (from 1) of the month, in the year of `date`. */
static int32_t nth_sunday(int32_t date, const char *month, int n)
{
    char text[DATE_TEXT_LEN];
    int32_t first;
    date_format(date, text);
    memcpy(text + 5, month, 2);
    memcpy(text + 8, "01", 2);
    CHECK(date_parse(str_make(text, sizeof text), &first));
    const int32_t weekday = (first + SUNDAY_OFFSET) % WEEK;
    return first + (WEEK - weekday) % WEEK + WEEK * (n - 1);
}

/* Returns the time at which the date begins in Los Angeles. Clocks change at 2 a.m., so the midnight before a
 * change still uses the old offset. */
static int64_t midnight_of(int32_t date)
{
    const bool summer = date > nth_sunday(date, "03", 2) && date <= nth_sunday(date, "11", 1);
    return date_start_ms(date) + (summer ? SUMMER_HOURS : WINTER_HOURS) * HOUR_MS;
}

int64_t quota_next_midnight(int64_t now)
{
    int32_t date = date_of(now) - 1;
    while (midnight_of(date) <= now)
        date++;
    return midnight_of(date);
}

void quota_init(struct quota *q, int64_t units, int64_t reserve_percent, int64_t now)
{
    *q = (struct quota){
        .units = units, .reserve_percent = reserve_percent, .resets_at = quota_next_midnight(now)};
}

void quota_restore(struct quota *q, int64_t used, int64_t resets_at, int64_t now)
{
    if (resets_at > now && resets_at <= q->resets_at)
        q->used = used;
}

void quota_roll_over(struct quota *q, int64_t now)
{
    if (now < q->resets_at)
        return;
    q->used = 0;
    q->resets_at = quota_next_midnight(now);
}

int64_t quota_left(const struct quota *q, int64_t now)
{
    if (!q->units)
        return INT64_MAX;
    if (now >= q->resets_at)
        return q->units;
    const bool at_end = (q->resets_at - now) * 100 <= DAY_MS * q->reserve_percent;
    const int64_t left = q->units - q->used - (at_end ? 0 : q->units * q->reserve_percent / 100);
    return left > 0 ? left : 0;
}

int64_t quota_share(const struct quota *q, int64_t now, int64_t period_ms)
{
    const int64_t left = quota_left(q, now), time_left = q->resets_at - now;
    if (!q->units || time_left <= period_ms)
        return left;
    /* At least one unit; otherwise a small quota would never be used. */
    const int64_t share = left * period_ms / time_left;
    return share > 0 || !left ? share : 1;
}

void quota_use(struct quota *q)
{
    q->used++;
}

bool quota_is_spent(const struct quota *q, int64_t now)
{
    return q->units && now < q->resets_at && q->used >= q->units;
}

void quota_mark_spent(struct quota *q)
{
    if (q->used < q->units)
        q->used = q->units;
}

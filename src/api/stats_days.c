/* Adds the missing days to a statistics row: the result has every date from the first reading (or the start
 * of the range) to the last date with possible readings. A day without a gain has 0 views and the total of
 * the day before. */
#include "api/stats.h"

#include "base/clock.h"

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static bool any_gain(const struct stats_video *row, int32_t first, int32_t last)
{
    for (size_t i = 0; i < row->day_count; i++)
        if (row->days[i].gained > 0 && row->days[i].date >= first && row->days[i].date <= last)
            return true;
    return false;
}

bool stats_days_begin(struct stats_days *d, const struct stats_video *row, const struct stats *stats)
{
    if (row->first_reading_at == TIME_NONE)
        return false;
    int32_t final = date_of(row->video.posted_at + VIDEO_LIFE_DAYS * (int64_t)DAY_MS);
    *d = (struct stats_days){
        .row = row,
        .date = larger(stats->from, date_of(row->first_reading_at)),
        .last = smaller(stats->to, smaller(stats->today, final)),
        .viral_date = row->went_viral_at == TIME_NONE ? INT32_MAX : date_of(row->went_viral_at),
        .total = row->baseline + row->gained_before,
    };
    return any_gain(row, d->date, d->last);
}

bool stats_days_next(struct stats_days *d, struct stats_day *out)
{
    if (d->date > d->last)
        return false;
    int64_t gained = 0;
    /* A gain before the first listed date exists only if a clock was set back; the total includes it. */
    while (d->next < d->row->day_count && d->row->days[d->next].date <= d->date) {
        const struct day_gain *day = &d->row->days[d->next++];
        d->total = d->row->baseline + day->gained_total;
        gained = day->date == d->date ? day->gained : 0;
    }
    *out = (struct stats_day){
        .date = d->date,
        .gained = gained,
        .total = d->total,
        .is_viral = d->date >= d->viral_date,
        .went_viral = d->date == d->viral_date,
    };
    d->date++;
    return true;
}

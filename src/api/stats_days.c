/* Adds the days without gains to a statistics row, so that the result has every date of the range from the
 * first reading of the video to the last date on which it can have readings. A day without a gain has 0 views
 * and the total of the previous day. If an import has moved posted_at of a video to an earlier time, the
 * video may have gains after that last date; the row lists these too. */
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
    if (row->day_count == 0)
        return false;
    const int32_t final = larger(date_of(row->video.posted_at + VIDEO_LIFE_DAYS * (int64_t)DAY_MS),
                                 row->days[row->day_count - 1].date);
    const int32_t first = smaller(date_of(row->first_reading_at), row->days[0].date);
    *d = (struct stats_days){
        .row = row,
        .periods = &stats->periods,
        .date = larger(stats->from, first),
        .last = smaller(stats->to, smaller(stats->today, final)),
        .viral_date = row->went_viral_at == TIME_NONE ? INT32_MAX : date_of(row->went_viral_at),
        .total = row->baseline + row->gained_before,
    };
    if (!any_gain(row, d->date, d->last))
        return false;
    d->index = periods_find(&stats->periods, d->date);
    return true;
}

/* Returns the sum of the gains from d->date to `end`, and sets d->date to the day after `end`. */
static int64_t sum_until(struct stats_days *d, int32_t end)
{
    int64_t gained = 0;
    while (d->next < d->row->day_count && d->row->days[d->next].date <= end) {
        const struct day_gain *day = &d->row->days[d->next++];
        d->total = d->row->baseline + day->gained_total;
        gained += day->gained;
    }
    d->date = end + 1;
    return gained;
}

bool stats_days_next(struct stats_days *d, struct stats_day *out)
{
    if (d->date > d->last)
        return false;
    const int32_t start = d->periods->starts[d->index], first = d->date;
    const int32_t end = smaller(d->last, d->periods->starts[d->index + 1] - 1);
    const int64_t gained = sum_until(d, end);
    *out = (struct stats_day){
        .index = d->index,
        .date = start,
        .gained = gained,
        .total = d->total,
        .is_viral = end >= d->viral_date,
        .went_viral = first <= d->viral_date && d->viral_date <= end,
    };
    d->index++;
    return true;
}

/* Implements lower_views.h. Subtracts the difference from the video's gains and baseline. */
#include "store/lower_views.h"

#include "base/check.h"
#include "store/author_days.h"
#include "store/daily_table.h"
#include "store/stored_days.h"

/* Lowers the running total of an item of s->days to `total`. */
static enum err limit_total(struct store *s, const struct video *video, enum platform platform,
                            struct day_gain *day, int64_t total)
{
    const int64_t previous = day->gained_total - day->gained, gained = day->gained;
    day->gained_total = total;
    day->gained = previous < total ? total - previous : 0;
    enum err err = daily_table_replace(s, video->row, day);
    if (err)
        return err;
    return store_subtract_platform_gains(s, video, (int)platform, day->date, gained - day->gained);
}

/* Limits the running total of each day to `total`. This is the same as subtracting the excess from the newest
 * days first. */
static enum err limit_totals(struct store *s, struct arena *a, struct video *video, enum platform platform,
                             int64_t total)
{
    const struct stored_days days = stored_days_of(video);
    enum err err = stored_days_read_all(s, &days);
    for (size_t i = s->days.count; !err && i > 0 && s->days.items[i - 1].gained_total > total; i--)
        err = limit_total(s, video, platform, &s->days.items[i - 1], total);
    return err ? err : stored_days_pack(s, a, video);
}

static enum err count_events_above(struct store *s, const struct video *video, int64_t *count)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_EVENTS_COUNT_ABOVE);
    sql_bind_i64(q, 1, video->author_row);
    sql_bind_i64(q, 2, video->row);
    sql_bind_i64(q, 3, video->views);
    return sql_one_i64(s->sql, q, count);
}

enum err store_lower_views(struct store *s, struct arena *a, struct video *video, size_t post, int64_t views,
                           struct lowered_views *out)
{
    struct post *p = &video->posts[post];
    CHECK(post < video->post_count && views >= 0 && views < p->counts[COUNT_VIEWS]);
    const int64_t taken = p->counts[COUNT_VIEWS] - views, gained = video->views - video->baseline;
    *out = (struct lowered_views){.before = p->counts[COUNT_VIEWS],
                                  .from_days = taken < gained ? taken : gained};
    out->from_baseline = taken - out->from_days;
    enum err err = limit_totals(s, a, video, p->platform, gained - out->from_days);
    if (!err)
        err = store_subtract_platform_gains(s, video, (int)p->platform, DAY_BASELINE, out->from_baseline);
    if (err)
        return err;
    p->counts[COUNT_VIEWS] = views;
    video->views -= taken;
    video->baseline -= out->from_baseline;
    err = store_save_counts(s, video, false);
    if (!err)
        err = count_events_above(s, video, &out->events);
    return err ? err : store_touch_author(s, video->author_row, TIME_NONE);
}

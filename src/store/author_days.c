/* Writes and reads the table author_daily. */
#include "store/author_days.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"
#include "store/stored_days.h"
#include "store/write.h"

/* --- writing an author's days --- */

static enum err write_gain(struct sql *sql, enum query query, int64_t author_row, int32_t day,
                           enum platform platform, int64_t gained)
{
    struct sql_statement *q = sql_use(sql, query);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, day);
    sql_bind_i64(q, 3, platform);
    sql_bind_i64(q, 4, gained);
    return sql_write_later(sql, q);
}

enum err store_add_platform_gain(struct store *s, int64_t author_row, int32_t day, enum platform platform,
                                 int64_t gained)
{
    CHECK(gained >= 0);
    if (gained > AUTHOR_GAINED_MAX)
        gained = AUTHOR_GAINED_MAX;
    return gained ? write_gain(s->sql, QUERY_AUTHOR_DAY_ADD, author_row, day, platform, gained) : OK;
}

/* Subtracts `wanted` from the author's row of this day and platform, or everything if the row contains less.
 * Reduces `*gained` by the subtracted number. */
static enum err subtract(struct sql *sql, const struct video *video, enum platform platform, int32_t day,
                         int64_t wanted, int64_t *gained)
{
    struct sql_statement *q = sql_use(sql, QUERY_AUTHOR_DAY);
    int64_t present = 0;
    sql_bind_i64(q, 1, video->author_row);
    sql_bind_i64(q, 2, day);
    sql_bind_i64(q, 3, platform);
    enum err err = sql_one_i64(sql, q, &present);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    const int64_t taken = wanted < present ? wanted : present;
    *gained -= taken;
    return !taken ? OK
                  : write_gain(sql, QUERY_AUTHOR_DAY_SET, video->author_row, day, platform, present - taken);
}

static int64_t views_of(const struct post *post)
{
    return post->counts[COUNT_VIEWS] > 0 ? post->counts[COUNT_VIEWS] : 0;
}

/* Subtracts `*gained` from the platforms of the video, in proportion to the views of its posts. */
static enum err subtract_in_proportion(struct sql *sql, const struct video *video, int32_t day,
                                       int64_t *gained)
{
    int64_t views = 0, rest = *gained;
    enum err err = OK;
    for (size_t i = 0; i < video->post_count; i++)
        views += views_of(&video->posts[i]);
    for (size_t i = 0; i < video->post_count && views && !err; i++) {
        const int64_t share = (int64_t)((__int128)rest * views_of(&video->posts[i]) / views);
        err = subtract(sql, video, video->posts[i].platform, day, share, gained);
        rest -= share;
        views -= views_of(&video->posts[i]);
    }
    return err;
}

enum err store_subtract_platform_gains(struct store *s, const struct video *video, int preferred, int32_t day,
                                       int64_t gained)
{
    enum err err = OK;
    CHECK(gained >= 0);
    if (preferred >= 0)
        err = subtract(s->sql, video, (enum platform)preferred, day, gained, &gained);
    if (!err && gained)
        err = subtract_in_proportion(s->sql, video, day, &gained);
    /* If a row contained less than its share, subtract the remainder from the other rows, to keep the
     * invariant. */
    for (size_t i = 0; i < video->post_count && gained && !err; i++)
        err = subtract(s->sql, video, video->posts[i].platform, day, gained, &gained);
    return err;
}

enum err store_read_all_days(struct store *s, const struct video *video, const struct day_gain **days,
                             size_t *count)
{
    const struct stored_days stored = stored_days_of(video);
    const enum err err = stored_days_read_all(s, &stored);
    *days = s->days.items;
    *count = s->days.count;
    return err;
}

enum err store_subtract_video_gains(struct store *s, const struct video *video)
{
    const struct day_gain *days;
    size_t count;
    enum err err = store_read_all_days(s, video, &days, &count);
    for (size_t i = 0; i < count && !err; i++)
        err = store_subtract_platform_gains(s, video, -1, days[i].date, days[i].gained);
    return err ? err : store_subtract_platform_gains(s, video, -1, DAY_BASELINE, video->baseline);
}

/* --- reading an author's days --- */

struct author_days_read {
    struct author_days_query query;
    store_author_day_fn fn;
    void *ctx;
    struct author_days_progress *progress;
    int count;
};

/* The columns of QUERY_AUTHOR_DAYS. */
enum { DAY, PLATFORM, GAINED, AUTHOR_REV };

static enum err pass_day(struct store *s, struct sql_statement *q, const struct author_days_read *r)
{
    const int64_t platform = sql_i64(q, PLATFORM), gained = sql_i64(q, GAINED);
    if (platform < 0 || platform >= PLATFORM_COUNT || gained < 0 || gained > AUTHOR_GAINED_MAX)
        return sql_report_damage(s->sql, "gains of a platform");
    const struct author_day day = {
        .day = (int32_t)sql_i64(q, DAY), .platform = (enum platform)platform, .gained = gained};
    r->progress->next = (struct author_day_position){.day = day.day, .platform = (int)platform};
    r->fn(r->ctx, &day);
    return OK;
}

/* If there are no days, the query returns one row whose day is NULL. */
static bool on_day_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    struct author_days_read *r = ctx;
    if (!r->count) {
        r->progress->author_rev = sql_i64(q, AUTHOR_REV);
        if (sql_i64_or(q, DAY, INT64_MIN) == INT64_MIN)
            return false;
    }
    r->progress->more = r->count++ == r->query.limit;
    if (r->progress->more)
        return false;
    *err = pass_day(s, q, r);
    return !*err;
}

/* Reads one row more than `limit`, to find out whether more rows follow. */
enum next store_list_author_days(struct store_read *read, const struct author_days_query *query,
                                 store_author_day_fn fn, void *ctx, struct author_days_progress *progress)
{
    static const struct row_reader reader = {.row = on_day_row, .needs_row = true};
    struct author_days_read r = {.query = *query, .fn = fn, .ctx = ctx, .progress = progress};
    struct sql_statement *q = row_read_use(read, QUERY_AUTHOR_DAYS);
    sql_bind_i64(q, 1, query->author_row);
    sql_bind_i64(q, 2, query->after.day);
    sql_bind_i64(q, 3, query->after.platform);
    sql_bind_i64(q, 4, query->to);
    sql_bind_i64(q, 5, (int64_t)query->limit + 1);
    *progress = (struct author_days_progress){.next = query->after};
    return row_read_run(read, q, &reader, &r, sizeof r);
}

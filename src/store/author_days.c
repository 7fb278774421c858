/* Writes and reads the table author_daily. */
#include "store/author_days.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"
#include "store/stored_days.h"
#include "store/write.h"

/* --- writing --- */

static enum err write_gain(struct sql *sql, enum query query, int64_t author_row, int32_t day,
                           enum platform platform, int64_t gained)
{
    struct sql_statement *q = sql_use(sql, query);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, day);
    sql_bind_i64(q, 3, platform);
    sql_bind_i64(q, 4, gained);
    return sql_write(sql, q);
}

enum err store_add_platform_gain(struct store *s, int64_t author_row, int32_t day, enum platform platform,
                                 int64_t gained)
{
    CHECK(gained >= 0);
    if (gained > AUTHOR_GAINED_MAX)
        gained = AUTHOR_GAINED_MAX;
    return gained ? write_gain(s->sql, QUERY_AUTHOR_DAY_ADD, author_row, day, platform, gained) : OK;
}

/* Subtracts `*gained`, or as much as the row has, from the row. Reduces `*gained` by the same number. */
static enum err take(struct sql *sql, const struct video *video, enum platform platform, int32_t day,
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
static enum err take_in_proportion(struct sql *sql, const struct video *video, int32_t day, int64_t *gained)
{
    int64_t views = 0, rest = *gained;
    enum err err = OK;
    for (size_t i = 0; i < video->post_count; i++)
        views += views_of(&video->posts[i]);
    for (size_t i = 0; i < video->post_count && views && !err; i++) {
        const int64_t share = (int64_t)((__int128)rest * views_of(&video->posts[i]) / views);
        err = take(sql, video, video->posts[i].platform, day, share, gained);
        rest -= share;
        views -= views_of(&video->posts[i]);
    }
    return err;
}

enum err store_take_platform_gains(struct store *s, const struct video *video, int preferred, int32_t day,
                                   int64_t gained)
{
    enum err err = OK;
    CHECK(gained >= 0);
    if (preferred >= 0)
        err = take(s->sql, video, (enum platform)preferred, day, gained, &gained);
    if (!err && gained)
        err = take_in_proportion(s->sql, video, day, &gained);
    /* If a row had less than its share, subtract the remainder from the other rows, to keep the invariant. */
    for (size_t i = 0; i < video->post_count && gained && !err; i++)
        err = take(s->sql, video, video->posts[i].platform, day, gained, &gained);
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

enum err store_take_video_gains(struct store *s, const struct video *video)
{
    const struct day_gain *days;
    size_t count;
    enum err err = store_read_all_days(s, video, &days, &count);
    for (size_t i = 0; i < count && !err; i++)
        err = store_take_platform_gains(s, video, -1, days[i].date, days[i].gained);
    return err ? err : store_take_platform_gains(s, video, -1, DAY_BASELINE, video->baseline);
}

/* --- reading --- */

struct author_days_read {
    const struct author_days_query *query;
    store_author_day_fn fn;
    void *ctx;
    struct author_days_progress *progress;
};

static enum err pass_row(struct sql *sql, struct sql_statement *q, const struct author_days_read *r)
{
    const int64_t platform = sql_i64(q, 1), gained = sql_i64(q, 2);
    if (platform < 0 || platform >= PLATFORM_COUNT || gained < 0 || gained > AUTHOR_GAINED_MAX)
        return sql_report_damage(sql, "gains of a platform");
    const struct author_day day = {
        .day = (int32_t)sql_i64(q, 0), .platform = (enum platform)platform, .gained = gained};
    r->progress->next = (struct author_day_position){.day = day.day, .platform = (int)platform};
    r->fn(r->ctx, &day);
    return OK;
}

static enum err scan_days(struct sql *sql, const struct author_days_read *r)
{
    struct sql_statement *q = sql_use(sql, QUERY_AUTHOR_DAYS);
    int count = 0;
    enum err err;
    sql_bind_i64(q, 1, r->query->author_row);
    sql_bind_i64(q, 2, r->query->after.day);
    sql_bind_i64(q, 3, r->query->after.platform);
    sql_bind_i64(q, 4, r->query->to);
    while (sql_row(sql, q, &err)) {
        r->progress->more = count++ == r->query->limit;
        if (!r->progress->more)
            err = pass_row(sql, q, r);
        if (r->progress->more || err) {
            sql_reset(q);
            break;
        }
    }
    return err;
}

static enum err list_author_days(struct store *s, void *ctx)
{
    const struct author_days_read *r = ctx;
    struct author_head head;
    enum err err = scan_days(s->sql, r);
    if (!err)
        err = store_read_author_head(s, r->query->author_row, &head);
    if (!err)
        r->progress->author_rev = head.rev;
    return err;
}

enum next store_list_author_days(struct store_read *read, const struct author_days_query *query,
                                 store_author_day_fn fn, void *ctx, struct author_days_progress *progress)
{
    struct author_days_read r = {.query = query, .fn = fn, .ctx = ctx, .progress = progress};
    *progress = (struct author_days_progress){.next = query->after};
    store_read_begin(read);
    return store_read_end(read, store_run_in_snapshot(read->store, list_author_days, &r));
}

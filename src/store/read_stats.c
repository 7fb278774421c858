/* Reads the daily gains of an author's videos. A call scans the videos in the order of the list. Unless the
 * query includes idle videos, the call omits videos without gains in the range. The scan cannot skip videos
 * by posted_at, even if they were posted after the range of dates: an import can change the posted_at of a
 * video that already has gains. */
#include "store/book_lookup.h"
#include "store/row_read.h"
#include "store/rows.h"
#include "store/stored_days.h"

struct stats_read {
    struct stats_query query;
    store_stats_fn fn;
    void *ctx;
    struct stats_progress *progress;
    struct book_lookup book;
    int examined;
    bool stopped; /* the callback returned false */
};

/* The columns of SQL_STATS_SCAN. */
enum {
    POSTED_AT,
    ID,
    FIRST_READING_AT,
    DAYS,
    BASELINE,
    WENT_VIRAL_AT,
    TITLE,
    ROW,
    VIEWS,
    AUTHOR_REV,
    BOOK_ROW
};

static enum err pass_row(struct store *s, struct sql_statement *q, struct stats_read *r,
                         int64_t gained_before)
{
    if (!r->query.for_totals) {
        enum err err = book_lookup_find(&r->book, s, q, BOOK_ROW);
        if (err)
            return err;
    }
    const struct stats_video row = {
        .video = {.id = r->progress->next.id,
                  .title = sql_text(q, TITLE),
                  .posted_at = r->progress->next.value},
        .book = r->book.ref,
        .baseline = sql_i64(q, BASELINE),
        .first_reading_at = sql_i64(q, FIRST_READING_AT),
        .went_viral_at = sql_i64_or(q, WENT_VIRAL_AT, TIME_NONE),
        .gained_before = gained_before,
        .days = s->days.items,
        .day_count = s->days.count,
    };
    r->stopped = !r->fn(r->ctx, &row);
    return OK;
}

static enum err examine_video(struct store *s, struct sql_statement *q, struct stats_read *r)
{
    const struct stats_query *query = &r->query;
    struct video_position *next = &r->progress->next;
    int64_t gained_before;
    next->value = sql_i64(q, POSTED_AT);
    if (!sql_bytes(q, ID, next->id.b, sizeof next->id.b))
        return sql_report_damage(s->sql, "video id");
    if (query->for_totals && sql_i64_or(q, FIRST_READING_AT, TIME_NONE) == TIME_NONE)
        return OK;
    const struct stored_days days = {.video_row = sql_i64(q, ROW),
                                     .packed = sql_text(q, DAYS),
                                     .total = sql_i64(q, VIEWS) - sql_i64(q, BASELINE)};
    enum err err = stored_days_read(s, &days, query->from, query->to, &gained_before);
    return err || (!s->days.count && !query->for_totals) ? err : pass_row(s, q, r, gained_before);
}

/* If there are no videos, the query returns one row whose video is NULL. */
static bool on_stats_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    struct stats_read *r = ctx;
    if (!r->examined) {
        r->progress->author_rev = sql_i64(q, AUTHOR_REV);
        if (!sql_i64_or(q, ROW, 0))
            return false;
    }
    r->progress->more = r->examined++ == r->query.limit || r->stopped;
    if (r->progress->more)
        return false;
    *err = examine_video(s, q, r);
    return !*err;
}

static enum err end_stats(struct store *s, void *ctx, enum err err)
{
    struct stats_read *r = ctx;
    (void)s;
    book_lookup_end(&r->book);
    return err;
}

/* Reads one row more than `limit`, to find out whether more rows follow. */
enum next store_list_stats(struct store_read *read, const struct stats_query *query, store_stats_fn fn,
                           void *ctx, struct stats_progress *progress)
{
    static const struct row_reader reader = {.row = on_stats_row, .end = end_stats, .needs_row = true};
    struct stats_read r = {.query = *query, .fn = fn, .ctx = ctx, .progress = progress};
    struct sql_statement *q = row_read_use(read, query->book_row ? QUERY_STATS_SCAN_BOOK : QUERY_STATS_SCAN);
    sql_bind_i64(q, 1, query->author_row);
    sql_bind_i64(q, 2, query->has_after ? query->after.value : INT64_MAX);
    sql_bind_uuid(q, 3, query->has_after ? &query->after.id : &uuid_nil);
    sql_bind_i64(q, 4, query->limit + 1);
    if (query->book_row)
        sql_bind_i64(q, 5, query->book_row);
    *progress = (struct stats_progress){.next = query->after};
    return row_read_run(read, q, &reader, &r, sizeof r);
}

/* --- days of one video --- */

struct video_days_read {
    int32_t from, to;
    store_video_days_fn fn;
    void *ctx;
};

static bool on_video_days_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct video_days_read *r = ctx;
    struct video video;
    struct video_days row = {.video = &video};
    if (!row_to_video(q, 0, &video) || !row_to_book_ref(q, VIDEO_COLUMNS, &row.book)) {
        *err = sql_report_damage(s->sql, "video");
        return false;
    }
    const struct stored_days days = stored_days_of(&video);
    int64_t before;
    *err = stored_days_read(s, &days, r->from, r->to, &before);
    if (*err)
        return false;
    row.days = s->days.items;
    row.day_count = s->days.count;
    return r->fn(r->ctx, &row);
}

enum next store_read_video_days(struct store_read *read, int64_t author_row, const struct uuid *id,
                                int32_t from, int32_t to, store_video_days_fn fn, void *ctx)
{
    static const struct row_reader reader = {.row = on_video_days_row, .needs_row = true};
    struct video_days_read r = {.from = from, .to = to, .fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, QUERY_VIDEO_OF_AUTHOR);
    sql_bind_uuid(q, 1, id);
    sql_bind_i64(q, 2, author_row);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

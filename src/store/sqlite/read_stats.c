/* Reads the daily gains of an author's videos. A call scans the videos in the order of the list. Unless the
 * query includes idle videos, it omits videos without gains in the range. The scan cannot be limited by
 * posted_at, because an import may change it after the gains. */
#include "store/sqlite/book_lookup.h"
#include "store/handle.h"
#include "store/read.h"
#include "store/rows.h"
#include "store/stored_days.h"

struct stats_read {
    struct store *store;
    const struct stats_query *query;
    store_stats_fn fn;
    void *ctx;
    struct stats_progress *progress;
    struct book_lookup book;
    int examined;
    bool stopped; /* the callback returned false */
};

/* The columns of SQL_STATS_SCAN. */
enum { POSTED_AT, ID, ROW, FIRST_READING_AT, DAYS, BASELINE, WENT_VIRAL_AT, TITLE, BOOK_ROW, VIEWS };

static enum err pass_row(struct stats_read *r, struct sql_statement *q, int64_t gained_before)
{
    if (!r->query->with_idle) {
        enum err err = book_lookup_find(&r->book, r->store->sql, sql_i64_or(q, BOOK_ROW, 0));
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
        .days = r->store->days.items,
        .day_count = r->store->days.count,
    };
    r->stopped = !r->fn(r->ctx, &row);
    return OK;
}

static enum err examine_video(struct stats_read *r, struct sql_statement *q)
{
    const struct stats_query *query = r->query;
    int64_t gained_before;
    if (query->with_idle && sql_i64_or(q, FIRST_READING_AT, TIME_NONE) == TIME_NONE)
        return OK;
    const struct stored_days days = {.video_row = sql_i64(q, ROW),
                                     .packed = sql_text(q, DAYS),
                                     .total = sql_i64(q, VIEWS) - sql_i64(q, BASELINE)};
    enum err err = stored_days_read(r->store, &days, query->from, query->to, &gained_before);
    return err || (!r->store->days.count && !query->with_idle) ? err : pass_row(r, q, gained_before);
}

static struct sql_statement *bind_scan(struct sql *sql, const struct stats_query *query)
{
    struct sql_statement *q = sql_use(sql, query->book_row ? QUERY_STATS_SCAN_BOOK : QUERY_STATS_SCAN);
    sql_bind_i64(q, 1, query->book_row ? query->book_row : query->author_row);
    sql_bind_i64(q, 2, query->has_after ? query->after.value : INT64_MAX);
    sql_bind_uuid(q, 3, query->has_after ? &query->after.id : &uuid_nil);
    return q;
}

static enum err on_row(struct stats_read *r, struct sql_statement *q)
{
    struct video_position *next = &r->progress->next;
    r->examined++;
    next->value = sql_i64(q, POSTED_AT);
    if (!sql_bytes(q, ID, next->id.b, sizeof next->id.b))
        return sql_report_damage(r->store->sql, "video id");
    return examine_video(r, q);
}

static enum err scan_videos(struct stats_read *r)
{
    struct sql *sql = r->store->sql;
    struct sql_statement *q = bind_scan(sql, r->query);
    enum err err;
    while (sql_row(sql, q, &err)) {
        r->progress->more = r->examined == r->query->limit || r->stopped;
        if (!r->progress->more)
            err = on_row(r, q);
        if (r->progress->more || err) {
            sql_reset(q);
            break;
        }
    }
    book_lookup_end(&r->book);
    return err;
}

static enum err list_stats(struct store *s, void *ctx)
{
    struct stats_read *r = ctx;
    struct author_head head;
    enum err err = scan_videos(r);
    if (err)
        return err;
    err = store_read_author_head(s, r->query->author_row, &head);
    if (err)
        return err;
    r->progress->author_rev = head.rev;
    return OK;
}

enum next store_list_stats(struct store_read *read, const struct stats_query *query, store_stats_fn fn,
                           void *ctx, struct stats_progress *progress)
{
    struct stats_read r = {.store = read->store, .query = query, .fn = fn, .ctx = ctx, .progress = progress};
    *progress = (struct stats_progress){.next = query->after};
    store_read_begin(read);
    return store_read_end(read, store_run_in_snapshot(read->store, list_stats, &r));
}

/* --- one video --- */

struct video_days_query {
    int64_t author_row;
    const struct uuid *id;
    int32_t from, to;
    store_video_days_fn fn;
    void *ctx;
};

static enum err pass_video(struct store *s, struct sql_statement *q, const struct video_days_query *query)
{
    struct video video;
    struct video_days row = {.video = &video};
    if (!row_to_video(q, 0, &video) || !row_to_book_ref(q, VIDEO_COLUMNS, &row.book))
        return sql_report_damage(s->sql, "video");
    const struct stored_days days = stored_days_of(&video);
    int64_t before;
    enum err err = stored_days_read(s, &days, query->from, query->to, &before);
    if (err)
        return err;
    row.days = s->days.items;
    row.day_count = s->days.count;
    (void)query->fn(query->ctx, &row);
    return OK;
}

static enum err read_video_days(struct store *s, void *ctx)
{
    const struct video_days_query *query = ctx;
    struct sql_statement *q = sql_use(s->sql, QUERY_VIDEO_OF_AUTHOR);
    sql_bind_uuid(q, 1, query->id);
    sql_bind_i64(q, 2, query->author_row);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    err = pass_video(s, q, query);
    sql_reset(q);
    return err;
}

enum next store_read_video_days(struct store_read *read, int64_t author_row, const struct uuid *id,
                                int32_t from, int32_t to, store_video_days_fn fn, void *ctx)
{
    struct video_days_query query = {
        .author_row = author_row, .id = id, .from = from, .to = to, .fn = fn, .ctx = ctx};
    store_read_begin(read);
    return store_read_end(read, store_run_in_snapshot(read->store, read_video_days, &query));
}

/* Reads the daily gains of an author's videos. A call scans the videos in their order. It skips a video whose
 * readings do not overlap the range, because all gains lie between the dates of the first and the last
 * reading. (posted_at is no lower bound: an import may change it later.) For a range within the last week the
 * gains are in the row itself, otherwise in the table `daily`. */
#include "base/clock.h"
#include "store/book_lookup.h"
#include "store/handle.h"
#include "store/read.h"
#include "store/recent.h"
#include "store/rows.h"

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

/* Reads the gains of a video into s->days. */
static enum err read_days(struct store *s, int64_t video_row, int32_t from, int32_t to)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_DAYS);
    enum err err;
    db_bind_i64(q, 1, video_row);
    db_bind_i64(q, 2, from);
    db_bind_i64(q, 3, to);
    s->days.count = 0;
    while (db_row(&s->db, q, &err))
        *VEC_ADD(&s->days) = row_day(q);
    return err;
}

/* The columns of SQL_STATS_SCAN. */
enum { POSTED_AT, ID, ROW, FIRST_READING_AT, UPDATED_AT, RECENT, BASELINE, WENT_VIRAL_AT, TITLE, BOOK_ROW };

static enum err pass_row(struct stats_read *r, struct sqlite3_stmt *q, const struct day_gain *days,
                         size_t day_count)
{
    enum err err = book_lookup_find(&r->book, &r->store->db, db_i64_or(q, BOOK_ROW, 0));
    if (err)
        return err;
    const struct stats_video row = {
        .video = {.id = r->progress->next.id,
                  .title = db_text(q, TITLE),
                  .posted_at = r->progress->next.posted_at},
        .book = r->book.ref,
        .baseline = db_i64(q, BASELINE),
        .first_reading_at = db_i64(q, FIRST_READING_AT),
        .went_viral_at = db_i64_or(q, WENT_VIRAL_AT, TIME_NONE),
        .gained_before = days[0].gained_total - days[0].gained,
        .days = days,
        .day_count = day_count,
    };
    r->stopped = !r->fn(r->ctx, &row);
    return OK;
}

static enum err examine_video(struct stats_read *r, struct sqlite3_stmt *q)
{
    const struct stats_query *query = r->query;
    struct recent_days recent;
    const struct day_gain *days;
    size_t count;
    if (db_i64_or(q, FIRST_READING_AT, INT64_MAX) >= date_start_ms(query->to + 1) ||
        db_i64_or(q, UPDATED_AT, INT64_MIN) < date_start_ms(query->from))
        return OK;
    if (!row_recent(q, RECENT, &recent))
        return db_damaged(&r->store->db, "days of a video");
    if (recent.known && recent_reaches(&recent, query->from)) {
        days = recent_within(&recent, query->from, query->to, &count);
    } else {
        enum err err = read_days(r->store, db_i64(q, ROW), query->from, query->to);
        if (err)
            return err;
        days = r->store->days.items;
        count = r->store->days.count;
    }
    return count ? pass_row(r, q, days, count) : OK;
}

static struct sqlite3_stmt *bind_scan(struct db *db, const struct stats_query *query)
{
    struct sqlite3_stmt *q = db_use(db, query->book_row ? QUERY_STATS_SCAN_BOOK : QUERY_STATS_SCAN);
    db_bind_i64(q, 1, query->book_row ? query->book_row : query->author_row);
    db_bind_i64(q, 2, query->has_after ? query->after.posted_at : INT64_MAX);
    db_bind_blob(q, 3, query->has_after ? query->after.id.b : NULL,
                 query->has_after ? sizeof query->after.id.b : 0);
    return q;
}

static enum err on_row(struct stats_read *r, struct sqlite3_stmt *q)
{
    struct video_position *next = &r->progress->next;
    r->examined++;
    next->posted_at = db_i64(q, POSTED_AT);
    if (!db_bytes(q, ID, next->id.b, sizeof next->id.b))
        return db_damaged(&r->store->db, "video id");
    return examine_video(r, q);
}

static enum err scan_videos(struct stats_read *r)
{
    struct db *db = &r->store->db;
    struct sqlite3_stmt *q = bind_scan(db, r->query);
    enum err err;
    while (db_row(db, q, &err)) {
        r->progress->more = r->examined == r->query->limit || r->stopped;
        if (!r->progress->more)
            err = on_row(r, q);
        if (r->progress->more || err) {
            db_reset(q);
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
    err = store_author_head(s, r->query->author_row, &head);
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

static enum err pass_video(struct store *s, struct sqlite3_stmt *q, const struct video_days_query *query)
{
    struct video video;
    struct video_days row = {.video = &video};
    if (!row_video(q, 0, &video) || !row_book_ref(q, VIDEO_COLUMNS, &row.book))
        return db_damaged(&s->db, "video");
    enum err err = read_days(s, video.row, query->from, query->to);
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
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_VIDEO_OF_AUTHOR);
    db_bind_uuid(q, 1, query->id);
    db_bind_i64(q, 2, query->author_row);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    err = pass_video(s, q, query);
    db_reset(q);
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

/* Reads: daily gains of an author's videos, a slice of videos at a time.
 *
 * A slice scans the videos in their order for what statistics show of them; only a video whose readings touch
 * the range is looked at, and its days are in the row as long as the range is one of the last week: others
 * are read from their table. All gains of a video lie between the dates of its first and its last reading: a
 * gain's time is never before the first and never after the last. (posted_at is no such bound, an import may
 * change it afterwards.) */
#include "base/check.h"
#include "base/clock.h"
#include "store/handle.h"
#include "store/page_book.h"
#include "store/read.h"
#include "store/recent.h"
#include "store/rows.h"

enum { STATS_DAYS_AT_FIRST = 128 };

struct stats_read {
    struct store *store;
    const struct stats_query *query;
    store_stats_fn fn;
    void *ctx;
    struct stats_progress *progress;
    struct page_book book;
    int seen;
    bool stopped; /* by the callback */
    enum err err; /* of a row */
};

static void make_room_for_day(struct store *s, size_t count)
{
    if (count < s->days_cap)
        return;
    s->days_cap = s->days_cap ? 2 * s->days_cap : STATS_DAYS_AT_FIRST;
    s->days = xrealloc(s->days, s->days_cap * sizeof *s->days);
}

static enum err read_days(struct store *s, int64_t video_row, int32_t from, int32_t to, size_t *count)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_DAYS);
    enum err err;
    db_bind_i64(q, 1, video_row);
    db_bind_i64(q, 2, from);
    db_bind_i64(q, 3, to);
    *count = 0;
    while (db_row(&s->db, q, &err)) {
        make_room_for_day(s, *count);
        s->days[(*count)++] = row_day(q);
    }
    return err;
}

/* Of SQL_STATS_SCAN. The id of the video is read before it is looked at. */
enum { RECENT, TITLE, WENT_VIRAL_AT, UPDATED_AT, FIRST_READING_AT, BASELINE, BOOK_ROW, ID, POSTED_AT, ROW };

static enum err give_row(struct stats_read *r, struct sqlite3_value **row, const struct day_gain *days,
                         size_t day_count)
{
    struct video video;
    enum err err = page_book_find(&r->book, &r->store->db, value_i64_or(row[BOOK_ROW], 0));
    if (err)
        return err;
    video.id = r->progress->next.id;
    video.posted_at = r->progress->next.posted_at;
    video.first_reading_at = value_i64(row[FIRST_READING_AT]);
    video.baseline = value_i64(row[BASELINE]);
    video.went_viral_at = value_i64_or(row[WENT_VIRAL_AT], TIME_NONE);
    video.title = value_text(row[TITLE]);
    struct stats_video shown = {
        .video = &video,
        .book = r->book.ref,
        .gained_before = days[0].gained_total - days[0].gained,
        .days = days,
        .day_count = day_count,
    };
    r->stopped = !r->fn(r->ctx, &shown);
    return OK;
}

static enum err look_at(struct stats_read *r, struct sqlite3_value **row)
{
    const struct stats_query *query = r->query;
    const struct day_gain *days;
    struct recent_days recent;
    size_t count;
    enum err err = OK;
    if (value_i64_or(row[FIRST_READING_AT], INT64_MAX) >= date_start_ms(query->to + 1) ||
        value_i64_or(row[UPDATED_AT], INT64_MIN) < date_start_ms(query->from))
        return OK;
    if (!row_recent(value_text(row[RECENT]), &recent))
        return db_damaged(&r->store->db, "days of a video");
    if (recent.known && recent_reaches(&recent, query->from)) {
        days = recent_within(&recent, query->from, query->to, &count);
    } else {
        err = read_days(r->store, value_i64(row[ROW]), query->from, query->to, &count);
        days = r->store->days;
    }
    return err || !count ? err : give_row(r, row, days, count);
}

static struct sqlite3_stmt *bind_scan(struct stats_read *r)
{
    const struct stats_query *query = r->query;
    struct sqlite3_stmt *scan =
        db_use(&r->store->db, query->book_row ? QUERY_STATS_SCAN_BOOK : QUERY_STATS_SCAN);
    db_bind_i64(scan, 1, query->book_row ? query->book_row : query->author_row);
    db_bind_i64(scan, 2, query->has_after ? query->after.posted_at : INT64_MAX);
    db_bind_blob(scan, 3, query->has_after ? query->after.id.b : NULL,
                 query->has_after ? sizeof query->after.id.b : 0);
    return scan;
}

static bool on_video(void *ctx, struct sqlite3_value **row)
{
    struct stats_read *r = ctx;
    struct stats_progress *progress = r->progress;
    progress->more = r->seen == r->query->limit || r->stopped;
    if (progress->more)
        return false;
    r->seen++;
    progress->next.posted_at = value_i64(row[POSTED_AT]);
    r->err = value_bytes(row[ID], progress->next.id.b, sizeof progress->next.id.b)
                 ? look_at(r, row)
                 : db_damaged(&r->store->db, "video id");
    return !r->err;
}

static enum err scan_videos(struct stats_read *r)
{
    struct db *db = &r->store->db;
    struct sqlite3_stmt *scan = bind_scan(r);
    enum err err;
    if (db_each(db, scan, on_video, r, &err))
        db_reset(scan);
    page_book_end(&r->book);
    return err ? err : r->err;
}

enum next store_list_stats(struct store_read *read, const struct stats_query *query, store_stats_fn fn,
                           void *ctx, struct stats_progress *progress)
{
    store_read_begin(read);
    struct stats_read r = {.store = read->store, .query = query, .fn = fn, .ctx = ctx, .progress = progress};
    bool own = false;
    *progress = (struct stats_progress){.next = query->after};
    enum err err = store_snapshot_begin(read->store, &own);
    struct author_head head = {0};
    if (!err)
        err = scan_videos(&r);
    if (!err)
        err = store_author_head(read, query->author_row, &head);
    progress->author_rev = head.rev;
    store_snapshot_end(read->store, own);
    return store_read_end(read, err);
}

static enum err give_video(struct store *s, struct sqlite3_stmt *q, size_t day_count, store_stats_fn fn,
                           void *ctx)
{
    struct video video;
    struct stats_video row = {.video = &video, .days = s->days, .day_count = day_count};
    if (day_count)
        row.gained_before = s->days[0].gained_total - s->days[0].gained;
    if (!row_video(q, 0, &video) || !row_book_ref(q, VIDEO_COLUMNS, &row.book))
        return db_damaged(&s->db, "video");
    (void)fn(ctx, &row);
    return OK;
}

enum next store_read_video_days(struct store_read *read, int64_t author_row, const struct uuid *id,
                                int32_t from, int32_t to, store_stats_fn fn, void *ctx)
{
    store_read_begin(read);
    struct store *s = read->store;
    bool own = false;
    enum err err = store_snapshot_begin(s, &own);
    if (!err) {
        struct sqlite3_stmt *q = db_use(&s->db, QUERY_VIDEO_OF_AUTHOR);
        db_bind_uuid(q, 1, id);
        db_bind_i64(q, 2, author_row);
        err = db_one(&s->db, q);
        if (!err) {
            size_t day_count;
            err = read_days(s, db_i64(q, 0), from, to, &day_count);
            if (!err)
                err = give_video(s, q, day_count, fn, ctx);
            db_reset(q);
        }
    }
    store_snapshot_end(s, own);
    return store_read_end(read, err);
}

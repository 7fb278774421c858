/* Reads: an author's events by id, a bounded number of rows a call. Filters are applied to the rows here and
 * not in SQL, so that a filter that nothing passes does not make a call longer. A page shows some videos
 * again and again, so the events are read alone, and then each of their videos once. */
#include "base/numbering.h"
#include "store/handle.h"
#include "store/page_book.h"
#include "store/read.h"
#include "store/rows.h"

/* No fewer than a page and the event behind it. */
enum { EVENTS_A_BATCH = NUMBERING_MAX };
/* Of an author's videos that are passed over for one that is looked for, more are dearer than to seek it. */
enum { SCANNED_FOR_ONE = 4 };
enum { EVENT_VIDEO_ROW = 5 }; /* of SQL_EVENT_VIDEO */

/* What an event shows of its video; texts live in the store's arena. */
struct event_video {
    struct uuid id;
    struct str title, thumbnail_url;
    int64_t posted_at;
    struct book_ref book;
    bool is_known; /* it has been looked up */
};

struct events_read {
    struct store *store;
    const struct events_query *query;
    store_event_fn fn;
    void *ctx;
    struct events_progress *progress;
    int given, scanned;
    bool stopped; /* by the callback */

    /* What the scan has found and not given out yet. */
    int count;
    struct event events[EVENTS_A_BATCH];
    int video_of[EVENTS_A_BATCH]; /* the number of the event's video */
    struct numbering videos;
    struct event_video shown[EVENTS_A_BATCH]; /* by number */
    struct page_book book;                    /* of the one looked up last */
    int videos_scanned;
    enum err err; /* of a row */
};

/* Not by a compound literal: clearing room for a batch costs more than reading its events. */
static void begin(struct events_read *r, struct store *s, const struct events_query *query,
                  struct events_progress *progress)
{
    r->store = s;
    r->query = query;
    r->progress = progress;
    r->given = r->scanned = r->count = 0;
    r->err = OK;
    r->stopped = false;
    numbering_begin(&r->videos);
}

static bool passes(const struct events_query *query, const struct event *event)
{
    return (!query->has_type || event->type == query->type) && event->occurred_at > query->occurred_after;
}

/* --- the videos of a batch: each is looked up once --- */

static enum err keep_video(struct events_read *r, struct sqlite3_value **row, int number)
{
    struct db *db = &r->store->db;
    struct arena *texts = &r->store->texts;
    struct event_video *shown = &r->shown[number];
    shown->thumbnail_url = row_keep(texts, value_text(row[0]));
    shown->title = row_keep(texts, value_text(row[1]));
    shown->posted_at = value_i64_or(row[2], TIME_NONE);
    enum err err = page_book_find(&r->book, db, value_i64(row[3]));
    if (err)
        return err;
    shown->book.id = r->book.ref.id;
    shown->book.title = row_keep(texts, r->book.ref.title);
    if (!value_bytes(row[4], shown->id.b, sizeof shown->id.b))
        return db_damaged(db, "event");
    shown->is_known = true;
    return OK;
}

static bool on_video(void *ctx, struct sqlite3_value **row)
{
    struct events_read *r = ctx;
    const int number = numbering_find(&r->videos, value_i64(row[EVENT_VIDEO_ROW]));
    if (number >= 0)
        r->err = keep_video(r, row, number);
    return !r->err && ++r->videos_scanned < SCANNED_FOR_ONE * r->videos.count;
}

/* Those of an author stand side by side, and a page mostly shows neighbours: all from the first to the last,
 * as long as not too many of them are of no use. */
static enum err scan_videos(struct events_read *r)
{
    struct db *db = &r->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_EVENT_VIDEOS);
    int64_t first = INT64_MAX, last = INT64_MIN;
    enum err err = OK;
    for (int i = 0; i < r->videos.count; i++) {
        const int64_t row = r->videos.rows[i];
        first = row < first ? row : first;
        last = row > last ? row : last;
    }
    db_bind_i64(q, 1, r->query->author_row);
    db_bind_i64(q, 2, first);
    db_bind_i64(q, 3, last);
    r->videos_scanned = 0;
    if (db_each(db, q, on_video, r, &err))
        db_reset(q);
    return err ? err : r->err;
}

static enum err seek_video(struct events_read *r, int number)
{
    struct db *db = &r->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_EVENT_VIDEO);
    db_bind_i64(q, 1, r->videos.rows[number]);
    enum err err;
    if (db_each(db, q, on_video, r, &err))
        db_reset(q);
    if (err || r->err)
        return err ? err : r->err;
    return r->shown[number].is_known ? OK : db_damaged(db, "event");
}

static enum err look_up_videos(struct events_read *r)
{
    arena_reset(&r->store->texts);
    r->book = (struct page_book){0};
    for (int i = 0; i < r->videos.count; i++)
        r->shown[i].is_known = false;
    enum err err = scan_videos(r);
    for (int i = 0; i < r->videos.count && !err; i++)
        if (!r->shown[i].is_known)
            err = seek_video(r, i);
    page_book_end(&r->book);
    return err;
}

/* --- events --- */

static void give(struct events_read *r, const struct event *event, const struct event_video *shown,
                 struct video *video)
{
    video->row = event->video_row;
    video->author_row = event->author_row;
    video->id = shown->id;
    video->title = shown->title;
    video->thumbnail_url = shown->thumbnail_url;
    video->posted_at = shown->posted_at;
    r->stopped = !r->fn(r->ctx, event, video, &shown->book);
    if (r->stopped && event->id != r->progress->scanned_to) {
        r->progress->scanned_to = event->id;
        r->progress->more = true;
    }
}

static enum err give_batch(struct events_read *r)
{
    struct video video;
    enum err err = r->count ? look_up_videos(r) : OK;
    if (err)
        return err;
    memset(&video, 0, sizeof video);
    for (int i = 0; i < r->count && !r->stopped; i++)
        give(r, &r->events[i], &r->shown[r->video_of[i]], &video);
    r->count = 0;
    numbering_begin(&r->videos);
    return OK;
}

/* Stops when the batch is full. */
static bool on_event(void *ctx, struct sqlite3_value **row)
{
    struct events_read *r = ctx;
    struct event *event = &r->events[r->count];
    r->progress->more = r->stopped || r->given == r->query->limit || r->scanned == r->query->scan_limit;
    if (r->progress->more)
        return false;
    if (!row_event(row, event)) {
        r->err = db_damaged(&r->store->db, "event");
        return false;
    }
    event->author_row = r->query->author_row;
    r->scanned++;
    r->progress->scanned_to = event->id;
    if (passes(r->query, event)) {
        r->given++;
        r->video_of[r->count++] = numbering_of(&r->videos, event->video_row);
    }
    return r->count < EVENTS_A_BATCH;
}

static enum err scan_events(struct events_read *r)
{
    struct db *db = &r->store->db;
    const struct events_query *query = r->query;
    struct sqlite3_stmt *q = db_use(db, query->descending ? QUERY_EVENTS_DESCENDING : QUERY_EVENTS_ASCENDING);
    enum err err = OK;
    db_bind_i64(q, 1, query->author_row);
    db_bind_i64(q, 2, query->bound);
    while (!r->err && db_each(db, q, on_event, r, &err) && !r->progress->more)
        if (r->count == EVENTS_A_BATCH)
            r->err = give_batch(r);
    db_reset(q);
    err = err ? err : r->err;
    return err ? err : give_batch(r);
}

enum next store_list_events(struct store_read *read, const struct events_query *query, store_event_fn fn,
                            void *ctx, struct events_progress *progress)
{
    store_read_begin(read);
    struct events_read r;
    begin(&r, read->store, query, progress);
    r.fn = fn;
    r.ctx = ctx;
    bool own = false;
    *progress = (struct events_progress){.scanned_to = query->bound};
    enum err err = store_snapshot_begin(read->store, &own);
    struct author_head head = {0};
    if (!err)
        err = scan_events(&r);
    if (!err)
        err = store_author_head(read, query->author_row, &head);
    progress->author_last_event_id = head.last_event_id;
    store_snapshot_end(read->store, own);
    return store_read_end(read, err);
}

enum next store_count_events(struct store_read *read, int64_t author_row, int64_t after, int most, int *count)
{
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_EVENT_COUNT);
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, after);
    db_bind_i64(q, 3, most);
    *count = 0;
    read->err = db_one(db, q);
    if (!read->err) {
        *count = (int)db_i64(q, 0);
        db_reset(q);
    }
    return NEXT_MORE;
}

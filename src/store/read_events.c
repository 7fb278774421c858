/* Reads: an author's events by id, a bounded number of rows a call. Filters are applied to the rows here and
 * not in SQL, so that a filter that nothing passes does not make a call longer. */
#include "store/handle.h"
#include "store/read.h"
#include "store/rows.h"

struct events_read {
    struct store *store;
    const struct events_query *query;
    store_event_fn fn;
    void *ctx;
    struct events_progress *progress;
    int given, scanned;
    bool stopped; /* by the callback */
};

static enum err read_head(struct events_read *r)
{
    struct db *db = &r->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_AUTHOR_HEAD);
    db_bind_i64(q, 1, r->query->author_row);
    enum err err = db_one(db, q);
    if (err)
        return err;
    r->progress->author_last_event_id = db_i64(q, 1);
    db_reset(q);
    return OK;
}

static bool passes(const struct events_query *query, const struct event *event)
{
    return (!query->has_type || event->type == query->type) && event->occurred_at > query->occurred_after;
}

/* What an event shows of its video; the other members are not read. */
static bool row_event_video(struct sqlite3_stmt *q, int first, struct video *video)
{
    video->title = db_text(q, first + 1);
    video->thumbnail_url = db_text(q, first + 2);
    video->posted_at = db_i64_or(q, first + 3, TIME_NONE);
    return db_bytes(q, first, video->id.b, sizeof video->id.b);
}

static enum err look_at(struct events_read *r, struct sqlite3_stmt *q)
{
    enum { BOOK_REF = EVENT_COLUMNS + 4 };
    struct event event;
    struct book_ref book;
    struct video video;
    if (!row_event(q, 0, &event))
        return db_damaged(&r->store->db, "event");
    r->scanned++;
    r->progress->scanned_to = event.id;
    if (!passes(r->query, &event))
        return OK;
    memset(&video, 0, sizeof video);
    video.row = event.video_row;
    video.author_row = event.author_row;
    if (!row_event_video(q, EVENT_COLUMNS, &video) || !row_book_ref(q, BOOK_REF, &book))
        return db_damaged(&r->store->db, "event");
    r->given++;
    r->stopped = !r->fn(r->ctx, &event, &video, &book);
    return OK;
}

static enum err scan_events(struct events_read *r)
{
    struct db *db = &r->store->db;
    const struct events_query *query = r->query;
    struct sqlite3_stmt *q = db_use(db, query->descending ? QUERY_EVENTS_DESCENDING : QUERY_EVENTS_ASCENDING);
    enum err err = OK;
    db_bind_i64(q, 1, query->author_row);
    db_bind_i64(q, 2, query->bound);
    db_bind_i64(q, 3, (int64_t)query->scan_limit + 1);
    while (db_row(db, q, &err)) {
        r->progress->more = r->stopped || r->given == query->limit || r->scanned == query->scan_limit;
        if (r->progress->more)
            break;
        err = look_at(r, q);
        if (err)
            break;
    }
    db_reset(q);
    return err;
}

enum next store_list_events(struct store_read *read, const struct events_query *query, store_event_fn fn,
                            void *ctx, struct events_progress *progress)
{
    store_read_begin(read);
    struct events_read r = {.store = read->store, .query = query, .fn = fn, .ctx = ctx, .progress = progress};
    bool own = false;
    *progress = (struct events_progress){.scanned_to = query->bound};
    enum err err = store_snapshot_begin(read->store, &own);
    if (!err)
        err = read_head(&r);
    if (!err)
        err = scan_events(&r);
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

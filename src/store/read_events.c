/* Reads an author's events by id. The filter by type is applied here, not in SQL, so that `scan_limit` bounds
 * the duration of a call even if few events have the type. */
#include "store/book_lookup.h"
#include "store/handle.h"
#include "store/read.h"
#include "store/rows.h"

struct events_read {
    struct db *db;
    const struct events_query *query;
    store_event_fn fn;
    void *ctx;
    struct events_progress *progress;
    struct book_lookup book;
    int passed, scanned;
    bool stopped; /* the callback returned false */
};

static bool passes(const struct events_query *query, const struct event *event)
{
    return (!query->has_type || event->type == query->type) && event->occurred_at > query->occurred_after;
}

/* Passes the event of the current row, with its video and book, to the callback. */
static enum err pass_event(struct events_read *r, struct sqlite3_stmt *q, const struct event *event)
{
    struct video_ref video;
    if (!row_video_ref(q, EVENT_COLUMNS, &video))
        return db_damaged(r->db, "event");
    enum err err = book_lookup_find(&r->book, r->db, db_i64_or(q, EVENT_COLUMNS + VIDEO_REF_COLUMNS, 0));
    if (err)
        return err;
    r->passed++;
    r->stopped = !r->fn(r->ctx, event, &video, &r->book.ref);
    return OK;
}

static enum err read_event(struct events_read *r, struct sqlite3_stmt *q)
{
    struct event event;
    if (!row_event(q, 0, &event))
        return db_damaged(r->db, "event");
    event.author_row = r->query->author_row;
    r->scanned++;
    r->progress->scanned_to = event.id;
    return passes(r->query, &event) ? pass_event(r, q, &event) : OK;
}

static enum err scan_events(struct events_read *r)
{
    const struct events_query *query = r->query;
    struct sqlite3_stmt *q =
        db_use(r->db, query->descending ? QUERY_EVENTS_DESCENDING : QUERY_EVENTS_ASCENDING);
    enum err err = OK;
    db_bind_i64(q, 1, query->author_row);
    db_bind_i64(q, 2, query->bound);
    while (db_row(r->db, q, &err)) {
        r->progress->more = r->stopped || r->passed == query->limit || r->scanned == query->scan_limit;
        if (!r->progress->more)
            err = read_event(r, q);
        if (r->progress->more || err) {
            db_reset(q);
            break;
        }
    }
    return err;
}

static enum err list_events(struct store *s, void *ctx)
{
    struct events_read *r = ctx;
    struct author_head head;
    enum err err = scan_events(r);
    book_lookup_end(&r->book);
    if (err)
        return err;
    err = store_author_head(s, r->query->author_row, &head);
    if (err)
        return err;
    r->progress->author_last_event_id = head.last_event_id;
    return OK;
}

enum next store_list_events(struct store_read *read, const struct events_query *query, store_event_fn fn,
                            void *ctx, struct events_progress *progress)
{
    struct events_read r = {
        .db = &read->store->db, .query = query, .fn = fn, .ctx = ctx, .progress = progress};
    *progress = (struct events_progress){.scanned_to = query->bound};
    store_read_begin(read);
    return store_read_end(read, store_run_in_snapshot(read->store, list_events, &r));
}

enum next store_count_events(struct store_read *read, int64_t author_row, int64_t after, int max, int *count)
{
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_EVENT_COUNT);
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, after);
    db_bind_i64(q, 3, max);
    *count = 0;
    read->err = db_one(db, q);
    if (!read->err) {
        *count = (int)db_i64(q, 0);
        db_reset(q);
    }
    return NEXT_MORE;
}

/* Reads an author's events by id. The filter by type is applied here, not in SQL, so that `scan_limit` bounds
 * the duration of a call even if few events have the type. */
#include "store/sqlite/book_lookup.h"
#include "store/handle.h"
#include "store/pack.h"
#include "store/read.h"
#include "store/rows.h"
#include "store/write.h"

struct events_read {
    struct sql *sql;
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
    return (!query->types || query->types & (1u << event->type)) &&
           event->occurred_at > query->occurred_after;
}

/* The columns after those of the event and its video. */
enum { BOOK_COLUMN = EVENT_COLUMNS + VIDEO_REF_COLUMNS, POSTS_COLUMN };

/* Passes the event of the current row, with its video and book, to the callback. */
static enum err pass_event(struct events_read *r, struct sql_statement *q, const struct event *event)
{
    struct video_ref video;
    struct post posts[PLATFORM_COUNT];
    if (!row_to_video_ref(q, EVENT_COLUMNS, &video) ||
        !unpack_posts(sql_text(q, POSTS_COLUMN), posts, &video.post_count))
        return sql_report_damage(r->sql, "event");
    video.posts = posts;
    enum err err = book_lookup_find(&r->book, r->sql, sql_i64_or(q, BOOK_COLUMN, 0));
    if (err)
        return err;
    r->passed++;
    r->stopped = !r->fn(r->ctx, event, &video, &r->book.ref);
    return OK;
}

static enum err read_event(struct events_read *r, struct sql_statement *q)
{
    struct event event;
    if (!row_to_event(q, 0, &event))
        return sql_report_damage(r->sql, "event");
    event.author_row = r->query->author_row;
    r->scanned++;
    r->progress->scanned_to = event.id;
    return passes(r->query, &event) ? pass_event(r, q, &event) : OK;
}

static enum err scan_events(struct events_read *r)
{
    const struct events_query *query = r->query;
    struct sql_statement *q =
        sql_use(r->sql, query->descending ? QUERY_EVENTS_DESCENDING : QUERY_EVENTS_ASCENDING);
    enum err err = OK;
    sql_bind_i64(q, 1, query->author_row);
    sql_bind_i64(q, 2, query->bound);
    while (sql_row(r->sql, q, &err)) {
        r->progress->more = r->stopped || r->passed == query->limit || r->scanned == query->scan_limit;
        if (!r->progress->more)
            err = read_event(r, q);
        if (r->progress->more || err) {
            sql_reset(q);
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
    err = store_read_author_head(s, r->query->author_row, &head);
    if (err)
        return err;
    r->progress->author_last_event_id = head.last_event_id;
    return OK;
}

enum next store_list_events(struct store_read *read, const struct events_query *query, store_event_fn fn,
                            void *ctx, struct events_progress *progress)
{
    struct events_read r = {
        .sql = read->store->sql, .query = query, .fn = fn, .ctx = ctx, .progress = progress};
    *progress = (struct events_progress){.scanned_to = query->bound};
    store_read_begin(read);
    return store_read_end(read, store_run_in_snapshot(read->store, list_events, &r));
}

enum next store_count_events(struct store_read *read, int64_t author_row, int64_t after, int max, int *count)
{
    struct sql *sql = read->store->sql;
    struct sql_statement *q = sql_use(sql, QUERY_EVENT_COUNT);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, after);
    sql_bind_i64(q, 3, max);
    *count = 0;
    read->err = sql_one(sql, q);
    if (!read->err) {
        *count = (int)sql_i64(q, 0);
        sql_reset(q);
    }
    return NEXT_MORE;
}

/* ---- the whole feed, for commands ---- */

struct feed_read {
    int64_t author_row;
    const struct feed_reader *reader;
};

static enum err read_all_events(struct sql *sql, const struct feed_read *r)
{
    struct sql_statement *q = sql_use(sql, QUERY_EVENTS_OF_AUTHOR);
    struct event event;
    enum err err;
    sql_bind_i64(q, 1, r->author_row);
    while (sql_row(sql, q, &err)) {
        if (!row_to_event(q, 0, &event)) {
            sql_reset(q);
            return sql_report_damage(sql, "event");
        }
        event.author_row = r->author_row;
        r->reader->on_event(r->reader->ctx, &event);
    }
    return err;
}

static enum err read_all_videos(struct sql *sql, const struct feed_read *r)
{
    struct sql_statement *q = sql_use(sql, QUERY_VIDEOS_OF_AUTHOR);
    struct video video;
    enum err err;
    sql_bind_i64(q, 1, r->author_row);
    while (sql_row(sql, q, &err)) {
        if (!row_to_video(q, 0, &video)) {
            sql_reset(q);
            return sql_report_damage(sql, "video");
        }
        r->reader->on_video(r->reader->ctx, &video);
    }
    return err;
}

static enum err read_feed(struct store *s, void *ctx)
{
    const struct feed_read *r = ctx;
    enum err err = read_all_events(s->sql, r);
    return err ? err : read_all_videos(s->sql, r);
}

enum err store_read_feed(struct store *s, int64_t author_row, const struct feed_reader *reader)
{
    struct feed_read r = {.author_row = author_row, .reader = reader};
    return store_run_in_snapshot(s, read_feed, &r);
}

/* Reads an author's events by id. The filter by type is applied here, not in SQL, so that `scan_limit` bounds
 * the duration of a call even if few events have the type. */
#include "store/book_lookup.h"
#include "store/pack.h"
#include "store/row_read.h"
#include "store/rows.h"
#include "store/write.h"

struct events_read {
    struct events_query query;
    store_event_fn fn;
    void *ctx;
    struct events_progress *progress;
    struct book_lookup book;
    int passed, scanned;
    bool stopped; /* the callback returned false */
};

static bool is_filtered(const struct events_query *query)
{
    return query->types || query->occurred_after != INT64_MIN;
}

static bool passes(const struct events_query *query, const struct event *event)
{
    return (!query->types || query->types & (1u << event->type)) &&
           event->occurred_at > query->occurred_after;
}

/* Indexes of the columns after the columns of the event and of its video. */
enum { POSTS_COLUMN = EVENT_COLUMNS + VIDEO_REF_COLUMNS, LAST_EVENT_COLUMN, BOOK_COLUMN };

/* Passes the event of the current row, with its video and book, to the callback. */
static enum err pass_event(struct store *s, struct sql_statement *q, struct events_read *r,
                           const struct event *event)
{
    struct video_ref video;
    struct post posts[PLATFORM_COUNT];
    if (!row_to_video_ref(q, EVENT_COLUMNS, &video) ||
        !unpack_posts(sql_text(q, POSTS_COLUMN), posts, &video.post_count))
        return sql_report_damage(s->sql, "event");
    video.posts = posts;
    enum err err = book_lookup_find(&r->book, s, q, BOOK_COLUMN);
    if (err)
        return err;
    r->passed++;
    r->stopped = !r->fn(r->ctx, event, &video, &r->book.ref);
    return OK;
}

static enum err read_event(struct store *s, struct sql_statement *q, struct events_read *r)
{
    struct event event;
    if (!row_to_event(q, 0, &event))
        return sql_report_damage(s->sql, "event");
    event.author_row = r->query.author_row;
    r->scanned++;
    r->progress->scanned_to = event.id;
    return passes(&r->query, &event) ? pass_event(s, q, r, &event) : OK;
}

/* If there are no events, the query returns one row whose event id is NULL. */
static bool on_event_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    struct events_read *r = ctx;
    if (!r->scanned) {
        r->progress->author_last_event_id = sql_i64(q, LAST_EVENT_COLUMN);
        if (sql_i64_or(q, 0, INT64_MIN) == INT64_MIN)
            return false;
    }
    r->progress->more = r->stopped || r->passed == r->query.limit || r->scanned == r->query.scan_limit;
    if (r->progress->more)
        return false;
    *err = read_event(s, q, r);
    return !*err;
}

static enum err end_events(struct store *s, void *ctx, enum err err)
{
    struct events_read *r = ctx;
    (void)s;
    book_lookup_end(&r->book);
    return err;
}

/* Reads one row more than can be examined, to find out whether more rows follow. */
enum next store_list_events(struct store_read *read, const struct events_query *query, store_event_fn fn,
                            void *ctx, struct events_progress *progress)
{
    static const struct row_reader reader = {.row = on_event_row, .end = end_events, .needs_row = true};
    struct events_read r = {.query = *query, .fn = fn, .ctx = ctx, .progress = progress};
    struct sql_statement *q =
        row_read_use(read, query->descending ? QUERY_EVENTS_DESCENDING : QUERY_EVENTS_ASCENDING);
    const bool scans = is_filtered(query) || query->scan_limit < query->limit;
    sql_bind_i64(q, 1, query->author_row);
    sql_bind_i64(q, 2, query->bound);
    sql_bind_i64(q, 3, 1 + (scans ? query->scan_limit : query->limit));
    *progress = (struct events_progress){.scanned_to = query->bound};
    return row_read_run(read, q, &reader, &r, sizeof r);
}

static bool on_count_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    int *const *count = ctx;
    (void)s;
    (void)err;
    **count = (int)sql_i64(q, 0);
    return false;
}

enum next store_count_events(struct store_read *read, int64_t author_row, int64_t after, int max, int *count)
{
    static const struct row_reader reader = {.row = on_count_row};
    struct sql_statement *q = row_read_use(read, QUERY_EVENT_COUNT);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, after);
    sql_bind_i64(q, 3, max);
    *count = 0;
    return row_read_run(read, q, &reader, &count, sizeof count);
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

/* Reads books and videos. */
#include "base/check.h"
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"

/* --- books --- */

struct books_read {
    store_book_fn fn;
    void *ctx;
    int64_t *author_rev;
};

/* Indexes of the columns after the columns of the book. */
enum { AUTHOR_NAME_COLUMN = BOOK_COLUMNS, AUTHOR_REV_COLUMN };

/* If there are no books, the query returns one row whose book is NULL. */
static bool on_book_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct books_read *r = ctx;
    struct book book;
    *r->author_rev = sql_i64(q, AUTHOR_REV_COLUMN);
    if (!sql_i64_or(q, 0, 0))
        return false;
    if (row_to_book(q, 0, &book))
        return r->fn(r->ctx, &book, sql_text(q, AUTHOR_NAME_COLUMN));
    *err = sql_report_damage(s->sql, "book");
    return false;
}

enum next store_list_books(struct store_read *read, int64_t author_row, const struct book_position *after,
                           int limit, store_book_fn fn, void *ctx, int64_t *author_rev)
{
    static const struct row_reader reader = {.row = on_book_row, .needs_row = true};
    struct books_read r = {.fn = fn, .ctx = ctx, .author_rev = author_rev};
    struct sql_statement *q = row_read_use(read, QUERY_BOOKS_PAGE);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, after ? after->created_at : INT64_MAX);
    sql_bind_uuid(q, 3, after ? &after->id : &uuid_nil);
    sql_bind_i64(q, 4, limit);
    *author_rev = 0;
    return row_read_run(read, q, &reader, &r, sizeof r);
}

/* --- videos --- */

struct videos_read {
    store_video_fn fn;
    void *ctx;
};

static bool on_video_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct videos_read *r = ctx;
    struct video video;
    struct book_ref book;
    if (row_to_video(q, 0, &video) && row_to_book_ref(q, VIDEO_COLUMNS, &book))
        return r->fn(r->ctx, &video, &book);
    *err = sql_report_damage(s->sql, "video");
    return false;
}

/* Binds the position after which the page starts: query->after, or the upper bound `posted_to` if
 * query->after is missing or newer than this bound. */
static void bind_start(struct sql_statement *q, const struct videos_query *query)
{
    bool bounded = query->posted_to != INT64_MAX;
    if (query->has_after && query->after.value <= query->posted_to) {
        sql_bind_i64(q, 3, query->after.value);
        sql_bind_uuid(q, 4, &query->after.id);
    } else {
        /* The page starts with the videos of the millisecond posted_to: no id is smaller than uuid_nil, so
         * the position (posted_to + 1, uuid_nil) excludes the videos of the next millisecond. */
        sql_bind_i64(q, 3, bounded ? query->posted_to + 1 : INT64_MAX);
        sql_bind_uuid(q, 4, &uuid_nil);
    }
}

static struct sql_statement *use_page(struct store_read *read, const struct videos_query *query)
{
    static const enum query pages[2][2] = {{QUERY_VIDEOS_PAGE, QUERY_VIDEOS_PAGE_VIRAL},
                                           {QUERY_VIDEOS_PAGE_BOOK, QUERY_VIDEOS_PAGE_BOOK_VIRAL}};
    const bool by_viral = query->viral != VIRAL_ANY;
    struct sql_statement *q = row_read_use(read, pages[query->has_book][by_viral]);
    int i = 6;
    if (query->has_book)
        sql_bind_uuid(q, i++, &query->book_id);
    if (by_viral)
        sql_bind_i64(q, i, query->viral == VIRAL_ONLY);
    return q;
}

enum next store_list_videos(struct store_read *read, const struct videos_query *query, store_video_fn fn,
                            void *ctx)
{
    static const struct row_reader reader = {.row = on_video_row};
    struct videos_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = use_page(read, query);
    sql_bind_i64(q, 1, query->author_row);
    sql_bind_i64(q, 2, query->posted_from);
    bind_start(q, query);
    sql_bind_i64(q, 5, query->limit);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

enum next store_read_video(struct store_read *read, int64_t author_row, const struct uuid *id,
                           store_video_fn fn, void *ctx)
{
    static const struct row_reader reader = {.row = on_video_row, .needs_row = true};
    struct videos_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, QUERY_VIDEO_OF_AUTHOR);
    sql_bind_uuid(q, 1, id);
    sql_bind_i64(q, 2, author_row);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

/* --- the videos that a search has found --- */

/* Formats the row ids as a JSON array. */
static size_t format_rows(const struct video_search *s, char *out, size_t size)
{
    struct buf b = buf_on(out, size);
    buf_append_char(&b, '[');
    for (size_t i = 0; i < s->found_count; i++) {
        if (i)
            buf_append_char(&b, ',');
        buf_append_i64(&b, s->found[i].row);
    }
    buf_append_char(&b, ']');
    return b.len;
}

enum next store_list_found_videos(struct store_read *read, const struct video_search *s, store_video_fn fn,
                                  void *ctx)
{
    static const struct row_reader reader = {.row = on_video_row};
    enum { ROW_ID_MAX = 21 }; /* a row id and a comma */
    char rows[FOUND_VIDEOS_MAX * ROW_ID_MAX + 2];
    struct videos_read r = {.fn = fn, .ctx = ctx};
    CHECK(s->done);
    struct sql_statement *q = row_read_use(read, QUERY_VIDEOS_FOUND);
    sql_bind_text(q, 1, str_make(rows, format_rows(s, rows, sizeof rows)));
    sql_bind_i64(q, 2, s->query->author_row);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

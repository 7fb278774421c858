/* Reads books and videos. */
#include "store/handle.h"
#include "store/read.h"
#include "store/rows.h"

/* --- books --- */

struct books_read {
    int64_t author_row;
    const struct book_position
        *after; /* the position after which the page starts; NULL means at the newest book */
    int limit;
    store_book_fn fn;
    void *ctx;
    int64_t *author_rev;
};

static enum err list_page_of_books(struct sql *sql, const struct books_read *r)
{
    struct sql_statement *q = sql_use(sql, QUERY_BOOKS_PAGE);
    enum err err;
    sql_bind_i64(q, 1, r->author_row);
    sql_bind_i64(q, 2, r->after ? r->after->created_at : INT64_MAX);
    sql_bind_uuid(q, 3, r->after ? &r->after->id : &uuid_nil);
    sql_bind_i64(q, 4, r->limit);
    while (sql_row(sql, q, &err)) {
        struct book book;
        bool sound = row_to_book(q, 0, &book);
        if (sound && r->fn(r->ctx, &book, sql_text(q, BOOK_COLUMNS)))
            continue;
        err = sound ? OK : sql_report_damage(sql, "book");
        sql_reset(q);
        break;
    }
    return err;
}

static enum err list_books(struct store *s, void *ctx)
{
    const struct books_read *r = ctx;
    struct author_head head;
    enum err err = list_page_of_books(s->sql, r);
    if (err)
        return err;
    err = store_read_author_head(s, r->author_row, &head);
    if (err)
        return err;
    *r->author_rev = head.rev;
    return OK;
}

enum next store_list_books(struct store_read *read, int64_t author_row, const struct book_position *after,
                           int limit, store_book_fn fn, void *ctx, int64_t *author_rev)
{
    struct books_read r = {.author_row = author_row,
                           .after = after,
                           .limit = limit,
                           .fn = fn,
                           .ctx = ctx,
                           .author_rev = author_rev};
    *author_rev = 0;
    store_read_begin(read);
    return store_read_end(read, store_run_in_snapshot(read->store, list_books, &r));
}

/* --- videos --- */

/* Binds the position after which the page starts: the cursor's position (query->after), or the upper bound
 * `posted_to` if there is no cursor or if the cursor is newer. */
static void bind_start(struct sql_statement *q, const struct videos_query *query)
{
    bool bounded = query->posted_to != INT64_MAX;
    if (query->has_after && query->after.value <= query->posted_to) {
        sql_bind_i64(q, 3, query->after.value);
        sql_bind_uuid(q, 4, &query->after.id);
    } else {
        /* No id is smaller than uuid_nil, so this excludes all videos of that millisecond. */
        sql_bind_i64(q, 3, bounded ? query->posted_to + 1 : INT64_MAX);
        sql_bind_uuid(q, 4, &uuid_nil);
    }
}

static struct sql_statement *bind_page(struct sql *sql, const struct videos_query *query, int64_t book_row)
{
    bool any = query->viral == VIRAL_ANY;
    enum query which = query->has_book ? (any ? QUERY_VIDEOS_PAGE_BOOK : QUERY_VIDEOS_PAGE_BOOK_VIRAL)
                                       : (any ? QUERY_VIDEOS_PAGE : QUERY_VIDEOS_PAGE_VIRAL);
    struct sql_statement *q = sql_use(sql, which);
    sql_bind_i64(q, 1, query->has_book ? book_row : query->author_row);
    sql_bind_i64(q, 2, query->posted_from);
    bind_start(q, query);
    sql_bind_i64(q, 5, query->limit);
    if (!any)
        sql_bind_i64(q, 6, query->viral == VIRAL_ONLY);
    return q;
}

struct videos_read {
    const struct videos_query *query;
    store_video_fn fn;
    void *ctx;
};

static enum err list_page(struct sql *sql, const struct videos_read *r, int64_t book_row)
{
    struct sql_statement *q = bind_page(sql, r->query, book_row);
    enum err err;
    while (sql_row(sql, q, &err)) {
        struct video video;
        struct book_ref book;
        bool sound = row_to_video(q, 0, &video) && row_to_book_ref(q, VIDEO_COLUMNS, &book);
        if (sound && r->fn(r->ctx, &video, &book))
            continue;
        err = sound ? OK : sql_report_damage(sql, "video");
        sql_reset(q);
        break;
    }
    return err;
}

static enum err list_book_videos(struct store *s, void *ctx)
{
    const struct videos_read *r = ctx;
    int64_t book_row;
    struct sql_statement *q = sql_use(s->sql, QUERY_BOOK_OF_AUTHOR);
    sql_bind_uuid(q, 1, &r->query->book_id);
    sql_bind_i64(q, 2, r->query->author_row);
    const enum err err = sql_one_i64(s->sql, q, &book_row);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    return list_page(s->sql, r, book_row);
}

enum next store_list_videos(struct store_read *read, const struct videos_query *query, store_video_fn fn,
                            void *ctx)
{
    struct store *s = read->store;
    struct videos_read r = {.query = query, .fn = fn, .ctx = ctx};
    store_read_begin(read);
    return store_read_end(read, query->has_book ? store_run_in_snapshot(s, list_book_videos, &r)
                                                : list_page(s->sql, &r, 0));
}

enum next store_read_video(struct store_read *read, int64_t author_row, const struct uuid *id,
                           store_video_fn fn, void *ctx)
{
    struct sql *sql = read->store->sql;
    struct video video;
    struct book_ref book;
    store_read_begin(read);
    struct sql_statement *q = sql_use(sql, QUERY_VIDEO_OF_AUTHOR);
    sql_bind_uuid(q, 1, id);
    sql_bind_i64(q, 2, author_row);
    enum err err = sql_one(sql, q);
    if (err)
        return store_read_end(read, err);
    if (row_to_video(q, 0, &video) && row_to_book_ref(q, VIDEO_COLUMNS, &book))
        (void)fn(ctx, &video, &book);
    else
        err = sql_report_damage(sql, "video");
    sql_reset(q);
    return store_read_end(read, err);
}

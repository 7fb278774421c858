/* Reads: pages of books and of videos, and one video. A page of videos is one statement, so one snapshot by
 * itself, which the look-ups of its books share as long as it stands on a row; only a filter by book asks
 * first which book that is. A page of books tells the revision with it. */
#include "store/handle.h"
#include "store/page_book.h"
#include "store/read.h"
#include "store/rows.h"

static enum err list_books(struct store *s, int64_t author_row, const struct book_position *after, int limit,
                           store_book_fn fn, void *ctx)
{
    struct db *db = &s->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_BOOKS_PAGE);
    enum err err;
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, after ? after->created_at : INT64_MAX);
    db_bind_blob(q, 3, after ? after->id.b : NULL, after ? sizeof after->id.b : 0);
    db_bind_i64(q, 4, limit);
    while (db_row(db, q, &err)) {
        struct book book;
        bool sound = row_book(q, 0, &book);
        if (sound && fn(ctx, &book, db_text(q, BOOK_COLUMNS)))
            continue;
        err = sound ? OK : db_damaged(db, "book");
        db_reset(q);
        break;
    }
    return err;
}

enum next store_list_books(struct store_read *read, int64_t author_row, const struct book_position *after,
                           int limit, store_book_fn fn, void *ctx, int64_t *author_rev)
{
    store_read_begin(read);
    bool own = false;
    enum err err = store_snapshot_begin(read->store, &own);
    struct author_head head = {0};
    if (!err)
        err = list_books(read->store, author_row, after, limit, fn, ctx);
    if (!err)
        err = store_author_head(read, author_row, &head);
    *author_rev = head.rev;
    store_snapshot_end(read->store, own);
    return store_read_end(read, err);
}

/* The first position that the page may hold is behind this one: behind the cursor, and not after posted_to.
 */
static void bind_start(struct sqlite3_stmt *q, const struct videos_query *query)
{
    bool bounded = query->posted_to != INT64_MAX;
    if (query->has_after && query->after.posted_at <= query->posted_to) {
        db_bind_i64(q, 3, query->after.posted_at);
        db_bind_uuid(q, 4, &query->after.id);
    } else {
        db_bind_i64(q, 3, bounded ? query->posted_to + 1 : INT64_MAX);
        db_bind_blob(q, 4, NULL, 0); /* smaller than any id: nothing of that very millisecond */
    }
}

static struct sqlite3_stmt *bind_page(struct db *db, const struct videos_query *query, int64_t book_row)
{
    bool any = query->viral == VIRAL_ANY;
    enum query which = query->has_book ? (any ? QUERY_VIDEOS_PAGE_BOOK : QUERY_VIDEOS_PAGE_BOOK_VIRAL)
                                       : (any ? QUERY_VIDEOS_PAGE : QUERY_VIDEOS_PAGE_VIRAL);
    struct sqlite3_stmt *q = db_use(db, which);
    db_bind_i64(q, 1, query->has_book ? book_row : query->author_row);
    db_bind_i64(q, 2, query->posted_from);
    bind_start(q, query);
    if (!any)
        db_bind_i64(q, 5, query->viral == VIRAL_ONLY);
    return q;
}

struct page_read {
    struct db *db;
    struct page_book book;
    int left; /* of the page */
    store_video_fn fn;
    void *ctx;
    enum err err;
};

static bool on_page_video(void *ctx, struct sqlite3_value **row)
{
    struct page_read *r = ctx;
    struct video video;
    r->err = row_shown_video(row, &video) ? page_book_find(&r->book, r->db, video.book_row)
                                          : db_damaged(r->db, "video");
    return !r->err && r->fn(r->ctx, &video, &r->book.ref) && --r->left > 0;
}

static enum err list_page(struct db *db, struct sqlite3_stmt *q, int limit, store_video_fn fn, void *ctx)
{
    struct page_read r = {.db = db, .left = limit, .fn = fn, .ctx = ctx};
    enum err err;
    if (db_each(db, q, on_page_video, &r, &err))
        db_reset(q);
    page_book_end(&r.book);
    return err ? err : r.err;
}

/* ERR_NOT_FOUND when it is not a book of this author. */
static enum err find_book(struct db *db, const struct videos_query *query, int64_t *book_row)
{
    struct sqlite3_stmt *q = db_use(db, QUERY_BOOK_OF_AUTHOR);
    db_bind_uuid(q, 1, &query->book_id);
    db_bind_i64(q, 2, query->author_row);
    enum err err = db_one(db, q);
    if (err)
        return err;
    *book_row = db_i64(q, 0);
    db_reset(q);
    return OK;
}

enum next store_list_videos(struct store_read *read, const struct videos_query *query, store_video_fn fn,
                            void *ctx)
{
    store_read_begin(read);
    struct db *db = &read->store->db;
    bool own = false;
    int64_t book_row = 0;
    enum err err = query->has_book ? store_snapshot_begin(read->store, &own) : OK;
    if (!err && query->has_book)
        err = find_book(db, query, &book_row);
    if (!err)
        err = list_page(db, bind_page(db, query, book_row), query->limit, fn, ctx);
    store_snapshot_end(read->store, own);
    return store_read_end(read, err == ERR_NOT_FOUND ? OK : err);
}

enum next store_read_video(struct store_read *read, int64_t author_row, const struct uuid *id,
                           store_video_fn fn, void *ctx)
{
    store_read_begin(read);
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_VIDEO_OF_AUTHOR);
    db_bind_uuid(q, 1, id);
    db_bind_i64(q, 2, author_row);
    enum err err = db_one(db, q);
    if (!err) {
        struct video video;
        struct book_ref book;
        bool sound = row_video(q, 0, &video) && row_book_ref(q, VIDEO_COLUMNS, &book);
        err = sound ? OK : db_damaged(db, "video");
        if (sound)
            (void)fn(ctx, &video, &book);
        db_reset(q);
    }
    return store_read_end(read, err);
}

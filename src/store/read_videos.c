/* Reads of books and videos. */
#include "store/handle.h"
#include "store/read.h"
#include "store/rows.h"

/* --- books --- */

static enum err list_books(struct db *db, int64_t author_row, const struct book_position *after, int limit,
                           store_book_fn fn, void *ctx)
{
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
    struct store *s = read->store;
    struct author_head head = {0};
    bool own;
    store_read_begin(read);
    enum err err = store_snapshot_begin(s, &own);
    if (!err)
        err = list_books(&s->db, author_row, after, limit, fn, ctx);
    if (!err)
        err = store_author_head(s, author_row, &head);
    *author_rev = head.rev;
    store_snapshot_end(s, own);
    return store_read_end(read, err);
}

/* --- videos --- */

/* The page starts after the cursor, and not after `posted_to`. */
static void bind_start(struct sqlite3_stmt *q, const struct videos_query *query)
{
    bool bounded = query->posted_to != INT64_MAX;
    if (query->has_after && query->after.posted_at <= query->posted_to) {
        db_bind_i64(q, 3, query->after.posted_at);
        db_bind_uuid(q, 4, &query->after.id);
    } else {
        /* An empty blob is smaller than every id: excludes all videos of that millisecond. */
        db_bind_i64(q, 3, bounded ? query->posted_to + 1 : INT64_MAX);
        db_bind_blob(q, 4, NULL, 0);
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
    db_bind_i64(q, 5, query->limit);
    if (!any)
        db_bind_i64(q, 6, query->viral == VIRAL_ONLY);
    return q;
}

static enum err list_page(struct db *db, struct sqlite3_stmt *q, store_video_fn fn, void *ctx)
{
    enum err err;
    while (db_row(db, q, &err)) {
        struct video video;
        struct book_ref book;
        bool sound = row_video(q, 0, &video) && row_book_ref(q, VIDEO_COLUMNS, &book);
        if (sound && fn(ctx, &video, &book))
            continue;
        err = sound ? OK : db_damaged(db, "video");
        db_reset(q);
        break;
    }
    return err;
}

/* ERR_NOT_FOUND if the author has no such book. */
static enum err find_book(struct db *db, const struct videos_query *query, int64_t *book_row)
{
    struct sqlite3_stmt *q = db_use(db, QUERY_BOOK_OF_AUTHOR);
    db_bind_uuid(q, 1, &query->book_id);
    db_bind_i64(q, 2, query->author_row);
    return db_one_i64(db, q, book_row);
}

static enum err list_book_videos(struct store *s, const struct videos_query *query, store_video_fn fn,
                                 void *ctx)
{
    bool own;
    int64_t book_row = 0;
    enum err err = store_snapshot_begin(s, &own);
    if (!err)
        err = find_book(&s->db, query, &book_row);
    if (!err)
        err = list_page(&s->db, bind_page(&s->db, query, book_row), fn, ctx);
    store_snapshot_end(s, own);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum next store_list_videos(struct store_read *read, const struct videos_query *query, store_video_fn fn,
                            void *ctx)
{
    struct store *s = read->store;
    store_read_begin(read);
    enum err err = query->has_book ? list_book_videos(s, query, fn, ctx)
                                   : list_page(&s->db, bind_page(&s->db, query, 0), fn, ctx);
    return store_read_end(read, err);
}

enum next store_read_video(struct store_read *read, int64_t author_row, const struct uuid *id,
                           store_video_fn fn, void *ctx)
{
    struct db *db = &read->store->db;
    struct video video;
    struct book_ref book;
    store_read_begin(read);
    struct sqlite3_stmt *q = db_use(db, QUERY_VIDEO_OF_AUTHOR);
    db_bind_uuid(q, 1, id);
    db_bind_i64(q, 2, author_row);
    enum err err = db_one(db, q);
    if (err)
        return store_read_end(read, err);
    if (row_video(q, 0, &video) && row_book_ref(q, VIDEO_COLUMNS, &book))
        (void)fn(ctx, &video, &book);
    else
        err = db_damaged(db, "video");
    db_reset(q);
    return store_read_end(read, err);
}

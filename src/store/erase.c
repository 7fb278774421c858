/* Deletes authors, videos and books. The rows of an author are deleted one table after the other, and the
 * author's videos one by one. */
#include "store/erase.h"

#include "base/seam.h"
#include "store/author_days.h"
#include "store/daily_table.h"
#include "store/rows.h"
#include "store/runs.h"

#include <sodium.h>

enum { HASH_LEN = 32, VIDEO_ARENA_BYTES = 16 * 1024 };

/* All tables in the order of deletion. */
static const struct {
    const char *name;
    enum query query; /* deletes the author's rows; QUERY_COUNT: delete_videos() deletes them instead */
} tables[ERASED_TABLES] = {
    [ERASED_WEBHOOK_REQUESTS] = {"webhook_requests", QUERY_ERASE_WEBHOOK_REQUESTS},
    [ERASED_WEBHOOK_ATTEMPTS] = {"webhook_attempts", QUERY_ERASE_WEBHOOK_ATTEMPTS},
    [ERASED_WEBHOOK_ENDPOINTS] = {"webhook_endpoints", QUERY_ERASE_WEBHOOK_ENDPOINTS},
    [ERASED_AUDIT] = {"audit", QUERY_ERASE_AUDIT},
    [ERASED_EVENTS] = {"events", QUERY_ERASE_EVENTS},
    [ERASED_PLATFORM_LINKS] = {"platform_links", QUERY_ERASE_PLATFORM_LINKS},
    [ERASED_PLATFORM_CREDENTIALS] = {"platform_credentials", QUERY_ERASE_PLATFORM_CREDENTIALS},
    [ERASED_INVITATIONS] = {"invitations", QUERY_INVITATIONS_DELETE_AUTHOR},
    [ERASED_SESSIONS] = {"sessions", QUERY_SESSIONS_DELETE_AUTHOR},
    [ERASED_DEVICES] = {"devices", QUERY_DEVICES_DELETE_AUTHOR},
    [ERASED_LOGINS] = {"logins", QUERY_ERASE_LOGINS},
    [ERASED_OAUTH_CODES] = {"oauth_codes", QUERY_ERASE_OAUTH_CODES},
    [ERASED_API_KEYS] = {"api_keys", QUERY_ERASE_API_KEYS},
    [ERASED_DAILY] = {"daily", QUERY_COUNT},
    [ERASED_AUTHOR_DAILY] = {"author_daily", QUERY_ERASE_AUTHOR_DAILY},
    [ERASED_PLATFORM_POSTS] = {"platform_posts", QUERY_COUNT},
    [ERASED_POST_KEYS] = {"post_keys", QUERY_COUNT},
    [ERASED_VIDEOS] = {"videos", QUERY_COUNT},
    [ERASED_BOOKS] = {"books", QUERY_ERASE_BOOKS},
    [ERASED_AUTHORS] = {"authors", QUERY_ERASE_AUTHORS},
};

const char *erased_table_name(int table)
{
    return tables[table].name;
}

/* Runs a statement whose parameter is a row id, and adds the number of changed rows to `*count`. */
static enum err delete_by_row(struct store *s, enum query query, int64_t row, int64_t *count)
{
    int changes = 0;
    struct sql_statement *q = sql_use(s->sql, query);
    sql_bind_i64(q, 1, row);
    enum err err = sql_write_count(s->sql, q, &changes);
    *count += changes;
    return err;
}

/* --- tombstones --- */

static void tombstone_hash(const struct uuid *author, uint8_t out[HASH_LEN])
{
    static const char prefix[] = "viewtally erased author ";
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    (void)crypto_hash_sha256_update(&state, (const uint8_t *)prefix, sizeof prefix - 1);
    (void)crypto_hash_sha256_update(&state, author->b, sizeof author->b);
    (void)crypto_hash_sha256_final(&state, out);
}

static struct sql_statement *use_with_tombstone(struct store *s, enum query query, uint8_t hash[HASH_LEN],
                                                const struct uuid *author)
{
    struct sql_statement *q = sql_use(s->sql, query);
    tombstone_hash(author, hash);
    sql_bind_blob(q, 1, hash, HASH_LEN);
    return q;
}

enum err store_find_tombstone(struct store *s, const struct uuid *author, bool *is_erased)
{
    uint8_t hash[HASH_LEN];
    int64_t found;
    const enum err err = sql_one_i64(s->sql, use_with_tombstone(s, QUERY_TOMBSTONE, hash, author), &found);
    *is_erased = err == OK;
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err store_delete_tombstone(struct store *s, const struct uuid *author)
{
    uint8_t hash[HASH_LEN];
    return sql_write(s->sql, use_with_tombstone(s, QUERY_TOMBSTONE_DELETE, hash, author));
}

static enum err insert_tombstone(struct store *s, const struct uuid *author, int64_t now)
{
    uint8_t hash[HASH_LEN];
    struct sql_statement *q = use_with_tombstone(s, QUERY_TOMBSTONE_INSERT, hash, author);
    sql_bind_i64(q, 2, now);
    return sql_write(s->sql, q);
}

/* --- videos and books --- */

/* Deletes the rows of the video's posts from the tables platform_posts and post_keys. */
static enum err delete_posts(struct store *s, const struct video *video, struct erased_rows *rows)
{
    static const struct {
        int table;
        enum query query;
    } deletions[] = {{ERASED_PLATFORM_POSTS, QUERY_PLATFORM_POST_DELETE},
                     {ERASED_POST_KEYS, QUERY_POST_KEY_DELETE}};
    enum err err = OK;
    for (size_t i = 0; !err && i < 2 * video->post_count; i++) {
        const struct post *post = &video->posts[i / 2];
        int changes = 0;
        struct sql_statement *q = sql_use(s->sql, deletions[i % 2].query);
        sql_bind_i64(q, 1, post->platform);
        sql_bind_text(q, 2, post->post_id);
        err = sql_write_count(s->sql, q, &changes);
        rows->counts[deletions[i % 2].table] += changes;
    }
    return err;
}

static enum err delete_video(struct store *s, const struct video *video, struct erased_rows *rows)
{
    enum err err = delete_posts(s, video, rows);
    if (!err)
        err = daily_table_delete(s, video->row, &rows->counts[ERASED_DAILY]);
    return err ? err : delete_by_row(s, QUERY_ERASE_VIDEO, video->row, &rows->counts[ERASED_VIDEOS]);
}

enum err store_next_video(struct store *s, int64_t author_row, int64_t book_row, int64_t after,
                          int64_t *video_row)
{
    struct sql_statement *q = sql_use(s->sql, book_row ? QUERY_VIDEO_NEXT_OF_BOOK : QUERY_VIDEO_NEXT);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, after);
    if (book_row)
        sql_bind_i64(q, 3, book_row);
    return sql_one_i64(s->sql, q, video_row);
}

static enum err delete_videos(struct store *s, int64_t author_row, struct erased_rows *rows)
{
    struct arena arena;
    struct video video = {.row = 0};
    enum err err;
    arena_init(&arena, VIDEO_ARENA_BYTES);
    while ((err = store_next_video(s, author_row, 0, video.row, &video.row)) == OK) {
        arena_reset(&arena);
        err = store_get_video(s, &arena, video.row, &video);
        if (!err)
            err = delete_video(s, &video, rows);
        if (err)
            break;
    }
    arena_fini(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* First marks the video as unposted, so that store_update_video() decrements the counters of its author and
 * book. */
enum err store_remove_video(struct store *s, const struct video *video)
{
    struct erased_rows rows = {{0}};
    struct video unposted = *video;
    unposted.posted_at = TIME_NONE;
    unposted.book_row = 0;
    enum err err = store_update_video(s, video, &unposted);
    if (err)
        return err;
    struct sql_statement *q = sql_use(s->sql, QUERY_EVENTS_DELETE_VIDEO);
    sql_bind_i64(q, 1, video->author_row);
    sql_bind_i64(q, 2, video->row);
    err = sql_write(s->sql, q);
    if (!err)
        err = store_subtract_video_gains(s, video);
    if (!err)
        err = delete_video(s, video, &rows);
    if (err)
        return err;
    q = sql_use(s->sql, QUERY_AUTHOR_RESET_LAST_EVENT_ID);
    sql_bind_i64(q, 1, video->author_row);
    err = sql_update(s->sql, q);
    return err ? err : store_touch_author(s, video->author_row, TIME_NONE);
}

enum err store_count_book_videos(struct store *s, const struct book *book, int64_t *count)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_BOOK_COUNT_VIDEOS);
    sql_bind_i64(q, 1, book->author_row);
    sql_bind_i64(q, 2, book->row);
    return sql_one_i64(s->sql, q, count);
}

enum err store_remove_book(struct store *s, const struct book *book)
{
    int64_t deleted = 0;
    bool has_videos;
    struct sql_statement *q = sql_use(s->sql, QUERY_BOOK_DETACH_VIDEOS);
    sql_bind_i64(q, 1, book->author_row);
    sql_bind_i64(q, 2, book->row);
    enum err err = sql_write_if(s->sql, q, &has_videos);
    if (!err)
        err = delete_by_row(s, QUERY_BOOK_DELETE, book->row, &deleted);
    if (!err)
        err = store_adjust_author(s, book->author_row,
                                  (struct author_adjustment){.books = -1, .feed = has_videos});
    return err ? err : store_touch_author(s, book->author_row, TIME_NONE);
}

/* --- authors --- */

/* Records the row ids of the author and of the author's keys, so that no later author or key gets the same
 * ids. */
static enum err reserve_row_ids(struct store *s, int64_t author_row)
{
    int64_t ignored = 0;
    enum err err = delete_by_row(s, QUERY_RESERVE_AUTHOR_ROW, author_row, &ignored);
    return err ? err : delete_by_row(s, QUERY_RESERVE_KEY_ROWS, author_row, &ignored);
}

enum err store_erase_author(struct store *s, const struct author *author, int64_t now,
                            struct erased_rows *rows)
{
    *rows = (struct erased_rows){{0}};
    enum err err = reserve_row_ids(s, author->row);
    for (int i = 0; !err && i < ERASED_TABLES; i++) {
        if (i == ERASED_VIDEOS)
            err = delete_videos(s, author->row, rows);
        else if (tables[i].query != QUERY_COUNT)
            err = delete_by_row(s, tables[i].query, author->row, &rows->counts[i]);
        seam_kill_point();
    }
    return err ? err : insert_tombstone(s, &author->id, now);
}

enum err store_erase_authors_again(struct store *s, int64_t now, int64_t *count)
{
    struct arena arena;
    struct author author;
    struct erased_rows rows;
    bool is_erased = false;
    enum err err;
    int64_t row = 0;
    *count = 0;
    arena_init(&arena, VIDEO_ARENA_BYTES);
    while ((err = store_find_next_author(s, row, &row)) == OK) {
        arena_reset(&arena);
        err = store_get_author(s, &arena, row, &author);
        if (!err)
            err = store_find_tombstone(s, &author.id, &is_erased);
        if (!err && is_erased)
            err = store_erase_author(s, &author, now, &rows);
        if (err)
            break;
        *count += is_erased;
    }
    arena_fini(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

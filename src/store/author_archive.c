/* Reads the data of an author in one snapshot, one table after the other, and finds event ids that several
 * authors share. */
#include "store/author_archive.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/platform_posts.h"
#include "store/rows.h"
#include "store/runs.h"

enum { ARENA_BYTES = 16 * 1024 };

/* --- reading the author's rows --- */

struct archive_read {
    const struct uuid *author_id;
    const struct archive_reader *reader;
    struct arena arena;
    int64_t author_row;
};

static enum err read_author(struct store *s, struct archive_read *r)
{
    struct author author;
    enum err err = store_find_author(s, &r->arena, r->author_id, &author);
    if (err)
        return err;
    r->author_row = author.row;
    return r->reader->on_author(r->reader->ctx, &author);
}

static struct sql_statement *use_for_author(struct store *s, enum query query, int64_t author_row)
{
    struct sql_statement *q = sql_use(s->sql, query);
    sql_bind_i64(q, 1, author_row);
    return q;
}

static enum err pass_key(struct sql *sql, struct sql_statement *q, const struct archive_reader *reader)
{
    struct archived_key key = {.app = {.client_id = sql_text(q, KEY_COLUMNS + 1),
                                       .name = sql_text(q, KEY_COLUMNS + 2),
                                       .home_url = sql_text(q, KEY_COLUMNS + 3)}};
    if (!row_to_api_key(q, 0, &key.key) || !sql_bytes(q, KEY_COLUMNS, key.hash, sizeof key.hash))
        return sql_report_damage(sql, "key");
    return reader->on_key(reader->ctx, &key);
}

static enum err pass_book(struct sql *sql, struct sql_statement *q, const struct archive_reader *reader)
{
    struct book book;
    return row_to_book(q, 0, &book) ? reader->on_book(reader->ctx, &book) : sql_report_damage(sql, "book");
}

static enum err pass_event(struct sql *sql, struct sql_statement *q, const struct archive_reader *reader)
{
    struct event event;
    struct uuid video_id;
    if (!row_to_event(q, 0, &event) || !sql_bytes(q, EVENT_COLUMNS, video_id.b, sizeof video_id.b))
        return sql_report_damage(sql, "event");
    return reader->on_event(reader->ctx, &event, &video_id);
}

typedef enum err pass_fn(struct sql *sql, struct sql_statement *q, const struct archive_reader *reader);

static enum err read_rows(struct store *s, const struct archive_read *r, enum query query, pass_fn *pass)
{
    struct sql_statement *q = use_for_author(s, query, r->author_row);
    enum err err;
    while (sql_row(s->sql, q, &err)) {
        err = pass(s->sql, q, r->reader);
        if (err) {
            sql_reset(q);
            break;
        }
    }
    return err;
}

/* --- videos --- */

static enum err read_posts(struct store *s, struct archive_read *r, struct archived_video *out)
{
    for (size_t i = 0; i < out->video->post_count; i++) {
        const struct post *post = &out->video->posts[i];
        struct platform_post found;
        enum err err = store_get_platform_post(s, &r->arena, post->platform, post->post_id, &found);
        if (err == ERR_NOT_FOUND)
            continue;
        if (err)
            return err;
        out->posts[i] =
            (struct archived_post){.resolved_id = found.resolved_id, .views_source = found.views_source};
    }
    return OK;
}

static enum err read_book_id(struct store *s, int64_t book_row, struct uuid *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_BOOK_REF);
    sql_bind_i64(q, 1, book_row);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err == ERR_NOT_FOUND ? sql_report_damage(s->sql, "book") : err;
    if (!sql_bytes(q, 0, out->b, sizeof out->b))
        err = sql_report_damage(s->sql, "book");
    sql_reset(q);
    return err;
}

static enum err pass_video(struct store *s, struct archive_read *r, const struct video *video)
{
    struct archived_video row = {.video = video};
    struct uuid book_id;
    enum err err = OK;
    arena_reset(&r->arena);
    if (video->book_row) {
        err = read_book_id(s, video->book_row, &book_id);
        row.book_id = &book_id;
    }
    if (!err)
        err = read_posts(s, r, &row);
    if (!err)
        err = store_read_all_days(s, video, &row.days, &row.day_count);
    return err ? err : r->reader->on_video(r->reader->ctx, &row);
}

static enum err read_videos(struct store *s, struct archive_read *r)
{
    struct sql_statement *q = use_for_author(s, QUERY_VIDEOS_OF_AUTHOR, r->author_row);
    struct video video;
    enum err err;
    while (sql_row(s->sql, q, &err)) {
        err = row_to_video(q, 0, &video) ? pass_video(s, r, &video) : sql_report_damage(s->sql, "video");
        if (err) {
            sql_reset(q);
            break;
        }
    }
    return err;
}

/* --- gains of the platforms --- */

struct gains_pass {
    const struct archive_reader *reader;
    enum err err;
};

static void pass_gain(void *ctx, const struct author_day *gain)
{
    struct gains_pass *p = ctx;
    if (!p->err)
        p->err = p->reader->on_gain(p->reader->ctx, gain);
}

static enum err read_gains(struct store *s, const struct archive_read *r)
{
    struct store_read read = {.store = s};
    struct gains_pass pass = {.reader = r->reader};
    const struct author_days_query query = {
        .author_row = r->author_row, .to = INT32_MAX, .after = {INT64_MIN, -1}, .limit = INT32_MAX};
    struct author_days_progress progress;
    const enum next next = store_list_author_days(&read, &query, pass_gain, &pass, &progress);
    CHECK(next == NEXT_MORE);
    return read.err ? read.err : pass.err;
}

static enum err read_all(struct store *s, void *ctx)
{
    struct archive_read *r = ctx;
    enum err err = read_author(s, r);
    if (!err)
        err = read_rows(s, r, QUERY_ARCHIVE_KEYS, pass_key);
    if (!err)
        err = read_rows(s, r, QUERY_ARCHIVE_BOOKS, pass_book);
    if (!err)
        err = read_videos(s, r);
    if (!err)
        err = read_gains(s, r);
    return err ? err : read_rows(s, r, QUERY_ARCHIVE_EVENTS, pass_event);
}

enum err store_read_archive(struct store *s, const struct uuid *author_id,
                            const struct archive_reader *reader)
{
    struct archive_read r = {.author_id = author_id, .reader = reader};
    arena_init(&r.arena, ARENA_BYTES);
    enum err err = store_run_in_snapshot(s, read_all, &r);
    arena_fini(&r.arena);
    return err;
}

/* --- shared event ids --- */

enum err store_find_shared_event_id(struct store *s, int64_t author_row, int64_t *id)
{
    int64_t other = 0, found;
    enum err err;
    *id = 0;
    while ((err = store_find_next_author(s, other, &other)) == OK) {
        if (other == author_row)
            continue;
        struct sql_statement *q = sql_use(s->sql, QUERY_EVENT_ID_SHARED);
        sql_bind_i64(q, 1, author_row);
        sql_bind_i64(q, 2, other);
        err = sql_one_i64(s->sql, q, &found);
        if (err && err != ERR_NOT_FOUND)
            return err;
        if (!err && (!*id || found < *id))
            *id = found;
    }
    return err == ERR_NOT_FOUND && *id ? OK : err;
}

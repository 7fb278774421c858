/* Reads and writes videos in write transactions: import lines, the platforms' ids, the changes of a step,
 * daily gains. */
#include "base/check.h"
#include "store/daily_table.h"
#include "store/day_pack.h"
#include "store/engine.h"
#include "store/pack.h"
#include "store/rows.h"
#include "store/stored_days.h"
#include "store/write.h"

/* --- finding videos and posts --- */

/* After row_to_video(), the texts of the posts point into the row, which is valid only until the statement
 * advances or is reset. So this function unpacks the posts again, from a copy of the packed column in the
 * arena. */
static enum err copy_video(struct store *s, struct sql_statement *q, struct arena *a, struct video *out)
{
    if (!row_to_video(q, 0, out))
        return sql_report_damage(s->sql, "video");
    out->title = row_copy_text(a, out->title);
    out->thumbnail_url = row_copy_text(a, out->thumbnail_url);
    bool sound =
        unpack_posts(row_copy_text(a, sql_text(q, VIDEO_POSTS_COLUMN)), out->posts, &out->post_count);
    return sound ? stored_days_load(s, a, out) : sql_report_damage(s->sql, "video");
}

static enum err read_video(struct store *s, struct sql_statement *q, struct arena *a, struct video *out)
{
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    err = copy_video(s, q, a, out);
    sql_reset(q);
    return err;
}

enum err store_find_video(struct store *s, struct arena *a, const struct uuid *id, struct video *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_VIDEO_BY_UUID);
    sql_bind_uuid(q, 1, id);
    return read_video(s, q, a, out);
}

size_t store_get_read_batch(const struct store *s)
{
    return (size_t)s->engine->read_batch;
}

enum err store_load_videos(struct store *s, const int64_t *video_rows, size_t needed, size_t count)
{
    CHECK(sql_in_transaction(s->sql) && needed <= count);
    return s->engine->load_videos ? s->engine->load_videos(s, video_rows, needed, count) : OK;
}

enum err store_get_video(struct store *s, struct arena *a, int64_t video_row, struct video *out)
{
    struct sql_statement *q =
        s->engine->take_loaded_video ? s->engine->take_loaded_video(s, video_row) : NULL;
    if (q)
        return copy_video(s, q, a, out);
    q = sql_use(s->sql, QUERY_VIDEO_BY_ROW);
    sql_bind_i64(q, 1, video_row);
    return read_video(s, q, a, out);
}

enum err store_find_post(struct store *s, enum platform platform, struct str post_id, struct post_owner *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_POST_OWNER);
    sql_bind_i64(q, 1, platform);
    sql_bind_text(q, 2, post_id);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    *out = (struct post_owner){.video_row = sql_i64(q, 0), .author_row = sql_i64(q, 1)};
    sql_reset(q);
    return OK;
}

static enum err find_each_post(struct store *s, const struct post_key *keys, size_t count,
                               struct post_owner *out)
{
    enum err err = OK;
    for (size_t i = 0; i < count && (!err || err == ERR_NOT_FOUND); i++) {
        out[i] = (struct post_owner){.video_row = 0};
        err = store_find_post(s, keys[i].platform, keys[i].post_id, &out[i]);
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err store_find_posts(struct store *s, const struct post_key *keys, size_t count, struct post_owner *out)
{
    return s->engine->find_posts ? s->engine->find_posts(s, keys, count, out)
                                 : find_each_post(s, keys, count, out);
}

enum err store_list_comparables(struct store *s, int64_t author_row, int64_t posted_to, int limit,
                                struct comparable *out, size_t *count)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_COMPARABLES);
    enum err err;
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, posted_to);
    sql_bind_i64(q, 3, limit);
    *count = 0;
    while (sql_row(s->sql, q, &err))
        out[(*count)++] = (struct comparable){.video_row = sql_i64(q, 0), .views = sql_i64(q, 1)};
    return err;
}

enum err store_list_pending_videos(struct store *s, struct pending_video *out, size_t limit, size_t *count)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_PENDING);
    enum err err;
    sql_bind_i64(q, 1, (int64_t)limit);
    *count = 0;
    while (sql_row(s->sql, q, &err))
        out[(*count)++] = (struct pending_video){.author_row = sql_i64(q, 0), .video_row = sql_i64(q, 1)};
    return err;
}

/* --- counters and revisions that depend on a video --- */

static bool is_posted(const struct video *video)
{
    return video->posted_at != TIME_NONE;
}

/* NULL and an empty text differ. */
static bool is_same_text(struct str a, struct str b)
{
    return !a.p == !b.p && str_eq(a, b);
}

static bool have_same_links(const struct video *a, const struct video *b)
{
    if (a->post_count != b->post_count)
        return false;
    for (size_t i = 0; i < a->post_count; i++)
        if (a->posts[i].platform != b->posts[i].platform || !is_same_text(a->posts[i].url, b->posts[i].url))
            return false;
    return true;
}

/* Returns true if an event shows both videos in the same way. */
static bool look_the_same_in_events(const struct video *a, const struct video *b)
{
    return is_same_text(a->title, b->title) && is_same_text(a->thumbnail_url, b->thumbnail_url) &&
           a->posted_at == b->posted_at && a->book_row == b->book_row && have_same_links(a, b);
}

/* Adds `videos` to the number of posted videos of a book. A video without a book has book_row 0. */
static enum err add_to_book(struct store *s, int64_t book_row, int videos)
{
    if (!book_row || !videos)
        return OK;
    struct sql_statement *q = sql_use(s->sql, QUERY_BOOK_ADD_POSTED);
    sql_bind_i64(q, 1, book_row);
    sql_bind_i64(q, 2, videos);
    return sql_update_later(s->sql, q);
}

static enum err count_new_video(struct store *s, const struct video *video)
{
    const int count = is_posted(video);
    enum err err = store_adjust_author(s, video->author_row, (struct author_adjustment){.videos = count});
    return err ? err : add_to_book(s, video->book_row, count);
}

static enum err count_changed_video(struct store *s, const struct video *old, const struct video *video)
{
    const int before = is_posted(old), after = is_posted(video);
    const struct author_adjustment adjustment = {.videos = after - before,
                                                 .feed = !look_the_same_in_events(old, video)};
    enum err err = store_adjust_author(s, video->author_row, adjustment);
    if (err)
        return err;
    if (old->book_row == video->book_row)
        return add_to_book(s, video->book_row, after - before);
    err = add_to_book(s, old->book_row, -before);
    return err ? err : add_to_book(s, video->book_row, after);
}

/* --- writing videos and counts --- */

static enum err pack_post_column(struct store *s, const struct video *video)
{
    buf_reset(&s->packed_posts, PACKED_MAX_BYTES);
    pack_posts(&s->packed_posts, video->posts, video->post_count);
    return s->packed_posts.failed ? ERR_FULL : OK;
}

static enum err pack_columns(struct store *s, const struct video *video)
{
    enum err err = pack_post_column(s, video);
    if (err)
        return err;
    buf_reset(&s->packed_milestones, PACKED_MAX_BYTES);
    pack_milestones(&s->packed_milestones, video->milestones, video->milestone_count);
    buf_reset(&s->packed_recent, PACKED_MAX_BYTES);
    if (daily_table_exists(s) && !days_pack_recent(&s->packed_recent, video->days))
        return sql_report_damage(s->sql, "days of a video");
    return s->packed_milestones.failed || s->packed_recent.failed ? ERR_FULL : OK;
}

static void bind_buf(struct sql_statement *q, int i, const struct buf *b)
{
    sql_bind_blob(q, i, b->p, b->len);
}

enum err store_insert_video(struct store *s, struct video *video)
{
    enum err err = pack_post_column(s, video);
    if (err)
        return err;
    struct sql_statement *q = sql_use(s->sql, QUERY_VIDEO_INSERT);
    sql_bind_uuid(q, 1, &video->id);
    sql_bind_i64(q, 2, video->author_row);
    sql_bind_i64_or_null(q, 3, video->book_row, 0);
    sql_bind_i64_or_null(q, 4, video->posted_at, TIME_NONE);
    sql_bind_i64(q, 5, video->viral.threshold);
    sql_bind_i64_or_null(q, 6, video->viral.median, COUNT_NONE);
    sql_bind_i64(q, 7, video->viral.compared);
    sql_bind_text(q, 8, video->title);
    sql_bind_text(q, 9, video->thumbnail_url);
    bind_buf(q, 10, &s->packed_posts);
    err = sql_insert(s->sql, q, &video->row);
    if (err)
        return err;
    video->stored_first_reading_at = TIME_NONE;
    video->stored_baseline_pending = false;
    video->days = STR("");
    return count_new_video(s, video);
}

enum err store_update_video(struct store *s, const struct video *old, const struct video *video)
{
    enum err err = pack_post_column(s, video);
    if (err)
        return err;
    struct sql_statement *q = sql_use(s->sql, QUERY_VIDEO_UPDATE);
    sql_bind_i64(q, 1, video->row);
    sql_bind_i64_or_null(q, 2, video->book_row, 0);
    sql_bind_i64_or_null(q, 3, video->posted_at, TIME_NONE);
    sql_bind_text(q, 4, video->title);
    sql_bind_text(q, 5, video->thumbnail_url);
    bind_buf(q, 6, &s->packed_posts);
    err = sql_update_later(s->sql, q);
    return err ? err : count_changed_video(s, old, video);
}

/* Uses a separate statement, and runs it only if a value changes, because these columns are indexed. */
static enum err save_first_reading(struct store *s, const struct video *video)
{
    if (video->first_reading_at == video->stored_first_reading_at &&
        video->baseline_pending == video->stored_baseline_pending)
        return OK;
    struct sql_statement *q = sql_use(s->sql, QUERY_SAVE_FIRST_READING);
    sql_bind_i64(q, 1, video->row);
    sql_bind_i64_or_null(q, 2, video->first_reading_at, TIME_NONE);
    sql_bind_i64(q, 3, video->baseline_pending);
    return sql_write_later(s->sql, q);
}

enum err store_save_counts(struct store *s, const struct video *video, bool went_viral)
{
    enum err err = pack_columns(s, video);
    if (err)
        return err;
    struct sql_statement *q = sql_use(s->sql, went_viral ? QUERY_SAVE_COUNTS_VIRAL : QUERY_SAVE_COUNTS);
    sql_bind_i64(q, 1, video->row);
    sql_bind_i64(q, 2, video->views);
    sql_bind_i64(q, 3, video->baseline);
    sql_bind_i64_or_null(q, 4, video->updated_at, TIME_NONE);
    sql_bind_i64(q, 5, video->viral.threshold);
    sql_bind_i64_or_null(q, 6, video->viral.median, COUNT_NONE);
    sql_bind_i64(q, 7, video->viral.compared);
    bind_buf(q, 8, &s->packed_posts);
    bind_buf(q, 9, &s->packed_milestones);
    sql_bind_blob(q, 10, video->days.p, video->days.len);
    if (went_viral) {
        sql_bind_i64_or_null(q, 11, video->went_viral_at, TIME_NONE);
        sql_bind_i64(q, 12, video->views_when_viral);
    }
    if (daily_table_exists(s))
        bind_buf(q, 13, &s->packed_recent);
    err = sql_update_later(s->sql, q);
    if (err)
        return err;
    return save_first_reading(s, video);
}

enum err store_put_post_key(struct store *s, enum platform platform, struct str post_id, int64_t video_row)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_POST_KEY_PUT);
    sql_bind_i64(q, 1, platform);
    sql_bind_text(q, 2, post_id);
    sql_bind_i64(q, 3, video_row);
    enum err err = sql_update(s->sql, q);
    return err == ERR_NOT_FOUND ? ERR_EXISTS : err;
}

static struct sql_statement *use_with_post(struct store *s, enum query query, enum platform platform,
                                           struct str post_id)
{
    struct sql_statement *q = sql_use(s->sql, query);
    sql_bind_i64(q, 1, platform);
    sql_bind_text(q, 2, post_id);
    return q;
}

enum err store_delete_post_key(struct store *s, enum platform platform, struct str post_id)
{
    const enum err err = sql_write(s->sql, use_with_post(s, QUERY_PLATFORM_POST_DELETE, platform, post_id));
    return err ? err : sql_update(s->sql, use_with_post(s, QUERY_POST_KEY_DELETE, platform, post_id));
}

/* --- daily gains --- */

static enum err record_gain(struct store *s, struct arena *a, struct video *video, int32_t day,
                            int64_t gained)
{
    const enum err err = daily_table_add(s, video->row, day, gained);
    if (err)
        return err;
    buf_reset(&s->packed_days, PACKED_MAX_BYTES);
    if (!days_add(&s->packed_days, video->days, day, gained))
        return sql_report_damage(s->sql, "days of a video");
    if (s->packed_days.failed)
        return ERR_FULL;
    video->days = arena_copy(a, buf_str(&s->packed_days));
    return OK;
}

enum err store_save_gain(struct store *s, struct arena *a, struct video *video, bool went_viral, int32_t day,
                         int64_t gained)
{
    CHECK(gained >= 0);
    enum err err = gained ? record_gain(s, a, video, day, gained) : OK;
    if (err)
        return err;
    return store_save_counts(s, video, went_viral);
}

enum err store_restore_gains(struct store *s, struct arena *a, struct video *video,
                             const struct day_gain *days, size_t count)
{
    enum err err = OK;
    for (size_t i = 0; i < count && !err; i++)
        err = record_gain(s, a, video, days[i].date, days[i].gained);
    return err;
}

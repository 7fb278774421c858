/* Videos in write transactions: import lines, the platforms' ids, the changes of a step, daily gains. */
#include "base/check.h"
#include "store/handle.h"
#include "store/pack.h"
#include "store/recent.h"
#include "store/rows.h"
#include "store/write.h"

/* --- finding --- */

/* The texts of the posts point into the packed column, so they are unpacked again from a copy of it. */
static enum err copy_video(struct db *db, struct sqlite3_stmt *q, struct arena *a, struct video *out)
{
    if (!row_video(q, 0, out))
        return db_damaged(db, "video");
    out->title = row_copy(a, out->title);
    out->thumbnail_url = row_copy(a, out->thumbnail_url);
    bool sound = unpack_posts(row_copy(a, db_text(q, VIDEO_POSTS_COLUMN)), out->posts, &out->post_count);
    return sound ? OK : db_damaged(db, "video");
}

static enum err read_video(struct db *db, struct sqlite3_stmt *q, struct arena *a, struct video *out)
{
    enum err err = db_one(db, q);
    if (err)
        return err;
    err = copy_video(db, q, a, out);
    db_reset(q);
    return err;
}

enum err store_find_video(struct store *s, struct arena *a, const struct uuid *id, struct video *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_VIDEO_BY_UUID);
    db_bind_uuid(q, 1, id);
    return read_video(&s->db, q, a, out);
}

enum err store_get_video(struct store *s, struct arena *a, int64_t video_row, struct video *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_VIDEO_BY_ROW);
    db_bind_i64(q, 1, video_row);
    return read_video(&s->db, q, a, out);
}

enum err store_find_post(struct store *s, enum platform platform, struct str post_id, struct post_owner *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_POST_OWNER);
    db_bind_i64(q, 1, platform);
    db_bind_text(q, 2, post_id);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    *out = (struct post_owner){.video_row = db_i64(q, 0), .author_row = db_i64(q, 1)};
    db_reset(q);
    return OK;
}

enum err store_list_comparables(struct store *s, int64_t author_row, int64_t posted_to, int limit,
                                struct comparable *out, size_t *count)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_COMPARABLES);
    enum err err;
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, posted_to);
    db_bind_i64(q, 3, limit);
    *count = 0;
    while (db_row(&s->db, q, &err))
        out[(*count)++] = (struct comparable){.video_row = db_i64(q, 0), .views = db_i64(q, 1)};
    return err;
}

enum err store_list_pending(struct store *s, struct pending_video *out, size_t limit, size_t *count)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_PENDING);
    enum err err;
    db_bind_i64(q, 1, (int64_t)limit);
    *count = 0;
    while (db_row(&s->db, q, &err))
        out[(*count)++] = (struct pending_video){.author_row = db_i64(q, 0), .video_row = db_i64(q, 1)};
    return err;
}

/* --- writing --- */

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
    if (video->recent.known)
        pack_recent(&s->packed_recent, &video->recent);
    return s->packed_milestones.failed || s->packed_recent.failed ? ERR_FULL : OK;
}

static void bind_buf(struct sqlite3_stmt *q, int i, const struct buf *b)
{
    db_bind_blob(q, i, b->p, b->len);
}

enum err store_insert_video(struct store *s, struct video *video)
{
    enum err err = pack_post_column(s, video);
    if (err)
        return err;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_VIDEO_INSERT);
    db_bind_uuid(q, 1, &video->id);
    db_bind_i64(q, 2, video->author_row);
    db_bind_i64_or_null(q, 3, video->book_row, 0);
    db_bind_i64_or_null(q, 4, video->posted_at, TIME_NONE);
    db_bind_i64(q, 5, video->viral.threshold);
    db_bind_i64_or_null(q, 6, video->viral.median, COUNT_NONE);
    db_bind_i64(q, 7, video->viral.compared);
    db_bind_text(q, 8, video->title);
    db_bind_text(q, 9, video->thumbnail_url);
    bind_buf(q, 10, &s->packed_posts);
    err = db_insert(&s->db, q, &video->row);
    if (err)
        return err;
    video->recent = (struct recent_days){.known = true};
    return OK;
}

enum err store_update_video(struct store *s, const struct video *video)
{
    enum err err = pack_post_column(s, video);
    if (err)
        return err;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_VIDEO_UPDATE);
    db_bind_i64(q, 1, video->row);
    db_bind_i64_or_null(q, 2, video->book_row, 0);
    db_bind_i64_or_null(q, 3, video->posted_at, TIME_NONE);
    db_bind_text(q, 4, video->title);
    db_bind_text(q, 5, video->thumbnail_url);
    bind_buf(q, 6, &s->packed_posts);
    return db_update(&s->db, q);
}

/* Uses a separate statement, and only if a value changes, because these columns are indexed. */
static enum err save_first_reading(struct store *s, const struct video *video)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SAVE_FIRST_READING);
    db_bind_i64(q, 1, video->row);
    db_bind_i64_or_null(q, 2, video->first_reading_at, TIME_NONE);
    db_bind_i64(q, 3, video->baseline_pending);
    return db_write(&s->db, q);
}

enum err store_save_counts(struct store *s, const struct video *video, bool went_viral)
{
    enum err err = pack_columns(s, video);
    if (err)
        return err;
    struct sqlite3_stmt *q = db_use(&s->db, went_viral ? QUERY_SAVE_COUNTS_VIRAL : QUERY_SAVE_COUNTS);
    db_bind_i64(q, 1, video->row);
    db_bind_i64(q, 2, video->views);
    db_bind_i64(q, 3, video->baseline);
    db_bind_i64_or_null(q, 4, video->updated_at, TIME_NONE);
    db_bind_i64(q, 5, video->viral.threshold);
    db_bind_i64_or_null(q, 6, video->viral.median, COUNT_NONE);
    db_bind_i64(q, 7, video->viral.compared);
    bind_buf(q, 8, &s->packed_posts);
    bind_buf(q, 9, &s->packed_milestones);
    if (video->recent.known)
        bind_buf(q, 10, &s->packed_recent);
    else
        db_bind_null(q, 10);
    if (went_viral) {
        db_bind_i64_or_null(q, 11, video->went_viral_at, TIME_NONE);
        db_bind_i64(q, 12, video->views_when_viral);
    }
    err = db_update(&s->db, q);
    if (err)
        return err;
    return save_first_reading(s, video);
}

enum err store_put_post_key(struct store *s, enum platform platform, struct str post_id, int64_t video_row)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_POST_KEY_PUT);
    db_bind_i64(q, 1, platform);
    db_bind_text(q, 2, post_id);
    db_bind_i64(q, 3, video_row);
    enum err err = db_update(&s->db, q);
    return err == ERR_NOT_FOUND ? ERR_EXISTS : err;
}

enum err store_delete_post_key(struct store *s, enum platform platform, struct str post_id)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_POST_KEY_DELETE);
    db_bind_i64(q, 1, platform);
    db_bind_text(q, 2, post_id);
    return db_update(&s->db, q);
}

/* --- gains --- */

/* For a video whose recent days are unknown: reads them from the table `daily`. `day` is the newest day with
 * a gain. */
static enum err read_recent(struct db *db, int64_t video_row, int32_t day, struct recent_days *out)
{
    struct sqlite3_stmt *q = db_use(db, QUERY_DAYS);
    enum err err;
    *out = (struct recent_days){.known = true};
    db_bind_i64(q, 1, video_row);
    db_bind_i64(q, 2, day - (RECENT_DAYS - 1));
    db_bind_i64(q, 3, day);
    while (db_row(db, q, &err))
        out->days[out->count++] = row_day(q);
    out->known = recent_is_sound(out);
    return err;
}

static enum err record_gain(struct db *db, struct video *video, int32_t day, int64_t gained)
{
    struct sqlite3_stmt *q = db_use(db, QUERY_GAIN_ADD);
    db_bind_i64(q, 1, video->row);
    db_bind_i64(q, 2, day);
    db_bind_i64(q, 3, gained);
    const enum err err = db_write(db, q);
    if (err)
        return err;
    if (!video->recent.known)
        return read_recent(db, video->row, day, &video->recent);
    recent_add(&video->recent, day, gained);
    return OK;
}

enum err store_save_gain(struct store *s, struct video *video, bool went_viral, int32_t day, int64_t gained)
{
    CHECK(gained >= 0);
    enum err err = gained ? record_gain(&s->db, video, day, gained) : OK;
    if (err)
        return err;
    return store_save_counts(s, video, went_viral);
}

/* The table platform_posts. */
#include "store/platform_posts.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"

enum err store_get_platform_post(struct store *s, struct arena *a, enum platform platform, struct str post_id,
                                 struct platform_post *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_PLATFORM_POST);
    db_bind_i64(q, 1, platform);
    db_bind_text(q, 2, post_id);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    *out = (struct platform_post){
        .platform = (enum platform)db_i64(q, 0),
        .post_id = row_copy(a, db_text(q, 1)),
        .resolved_id = row_copy(a, db_text(q, 2)),
        .credential_row = db_i64_or(q, 3, 0),
        .views_source = (int)db_i64(q, 4),
        .misses = db_i64(q, 5),
        .missed_since = db_i64_or(q, 6, TIME_NONE),
        .is_permanent = db_i64(q, 7) != 0,
        .requested_at = db_i64_or(q, 8, TIME_NONE),
    };
    db_reset(q);
    return OK;
}

enum err store_put_platform_post(struct store *s, const struct platform_post *post)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_PLATFORM_POST_PUT);
    db_bind_i64(q, 1, post->platform);
    db_bind_text(q, 2, post->post_id);
    db_bind_text(q, 3, post->resolved_id);
    db_bind_i64_or_null(q, 4, post->credential_row, 0);
    db_bind_i64(q, 5, post->views_source);
    db_bind_i64(q, 6, post->misses);
    db_bind_i64_or_null(q, 7, post->missed_since, TIME_NONE);
    db_bind_i64(q, 8, post->is_permanent);
    db_bind_i64_or_null(q, 9, post->requested_at, TIME_NONE);
    return db_write(&s->db, q);
}

enum err store_delete_platform_post(struct store *s, enum platform platform, struct str post_id)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_PLATFORM_POST_DELETE);
    db_bind_i64(q, 1, platform);
    db_bind_text(q, 2, post_id);
    return db_write(&s->db, q);
}

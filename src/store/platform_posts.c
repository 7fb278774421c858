/* Implements platform_posts.h with the table platform_posts. */
#include "store/platform_posts.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"

enum err store_get_platform_post(struct store *s, struct arena *a, enum platform platform, struct str post_id,
                                 struct platform_post *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_PLATFORM_POST);
    sql_bind_i64(q, 1, platform);
    sql_bind_text(q, 2, post_id);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    *out = (struct platform_post){
        .platform = (enum platform)sql_i64(q, 0),
        .post_id = row_copy_text(a, sql_text(q, 1)),
        .resolved_id = row_copy_text(a, sql_text(q, 2)),
        .credential_row = sql_i64_or(q, 3, 0),
        .views_source = (int)sql_i64(q, 4),
        .misses = sql_i64(q, 5),
        .missed_since = sql_i64_or(q, 6, TIME_NONE),
        .is_permanent = sql_i64(q, 7) != 0,
        .requested_at = sql_i64_or(q, 8, TIME_NONE),
    };
    sql_reset(q);
    return OK;
}

enum err store_put_platform_post(struct store *s, const struct platform_post *post)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_PLATFORM_POST_PUT);
    sql_bind_i64(q, 1, post->platform);
    sql_bind_text(q, 2, post->post_id);
    sql_bind_text(q, 3, post->resolved_id);
    sql_bind_i64_or_null(q, 4, post->credential_row, 0);
    sql_bind_i64(q, 5, post->views_source);
    sql_bind_i64(q, 6, post->misses);
    sql_bind_i64_or_null(q, 7, post->missed_since, TIME_NONE);
    sql_bind_i64(q, 8, post->is_permanent);
    sql_bind_i64_or_null(q, 9, post->requested_at, TIME_NONE);
    return sql_write(s->sql, q);
}

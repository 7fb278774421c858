/* The table platform_limits. */
#include "store/platform_limits.h"

#include "base/check.h"
#include "store/handle.h"

enum err store_get_limit(struct store *s, int api, struct str name, struct platform_limit *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LIMIT_GET);
    db_bind_i64(q, 1, api);
    db_bind_text(q, 2, name);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    *out = (struct platform_limit){
        .api = api, .name = name, .value = db_i64(q, 0), .until = db_i64_or(q, 1, TIME_NONE)};
    db_reset(q);
    return OK;
}

enum err store_put_limit(struct store *s, const struct platform_limit *limit)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LIMIT_PUT);
    db_bind_i64(q, 1, limit->api);
    db_bind_text(q, 2, limit->name);
    db_bind_i64(q, 3, limit->value);
    db_bind_i64_or_null(q, 4, limit->until, TIME_NONE);
    return db_write(&s->db, q);
}

enum err store_delete_limit(struct store *s, int api, struct str name)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LIMIT_DELETE);
    db_bind_i64(q, 1, api);
    db_bind_text(q, 2, name);
    return db_write(&s->db, q);
}

enum err store_list_limits(struct store *s, int api, store_limit_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LIMITS);
    enum err err;
    db_bind_i64(q, 1, api);
    while (db_row(&s->db, q, &err)) {
        const struct platform_limit limit = {
            .api = api, .name = db_text(q, 0), .value = db_i64(q, 1), .until = db_i64_or(q, 2, TIME_NONE)};
        if (fn(ctx, &limit))
            continue;
        db_reset(q);
        break;
    }
    return err;
}

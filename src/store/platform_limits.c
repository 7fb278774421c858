/* Implements platform_limits.h with the table platform_limits. */
#include "store/platform_limits.h"

#include "base/check.h"
#include "store/handle.h"

enum err store_get_platform_limit(struct store *s, int api, struct str name, struct platform_limit *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LIMIT_GET);
    sql_bind_i64(q, 1, api);
    sql_bind_text(q, 2, name);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    *out = (struct platform_limit){
        .api = api, .name = name, .value = sql_i64(q, 0), .until = sql_i64_or(q, 1, TIME_NONE)};
    sql_reset(q);
    return OK;
}

enum err store_put_platform_limit(struct store *s, const struct platform_limit *limit)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LIMIT_PUT);
    sql_bind_i64(q, 1, limit->api);
    sql_bind_text(q, 2, limit->name);
    sql_bind_i64(q, 3, limit->value);
    sql_bind_i64_or_null(q, 4, limit->until, TIME_NONE);
    return sql_write(s->sql, q);
}

enum err store_delete_platform_limit(struct store *s, int api, struct str name)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LIMIT_DELETE);
    sql_bind_i64(q, 1, api);
    sql_bind_text(q, 2, name);
    return sql_write(s->sql, q);
}

enum err store_list_platform_limits(struct store *s, int api, store_limit_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LIMITS);
    enum err err;
    sql_bind_i64(q, 1, api);
    while (sql_row(s->sql, q, &err)) {
        const struct platform_limit limit = {
            .api = api, .name = sql_text(q, 0), .value = sql_i64(q, 1), .until = sql_i64_or(q, 2, TIME_NONE)};
        if (fn(ctx, &limit))
            continue;
        sql_reset(q);
        break;
    }
    return err;
}

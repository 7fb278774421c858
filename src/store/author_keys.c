/* Reads an author's keys with their apps, and checks the limits on their number. */
#include "store/author_keys.h"

#include "base/clock.h"
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"

static bool row_author_key(struct sql_statement *q, struct author_key *out)
{
    *out = (struct author_key){.app_name = sql_text(q, KEY_COLUMNS),
                               .app_home_url = sql_text(q, KEY_COLUMNS + 1)};
    bool sound = row_to_api_key(q, 0, &out->key);
    out->is_app = out->key.app_row != 0;
    return sound;
}

struct author_keys_read {
    store_author_key_fn fn;
    void *ctx;
};

static bool on_key_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct author_keys_read *r = ctx;
    struct author_key key;
    if (row_author_key(q, &key))
        return r->fn(r->ctx, &key);
    *err = sql_report_damage(s->sql, "key");
    return false;
}

static const struct row_reader key_reader = {.row = on_key_row, .needs_row = true};

enum next store_list_author_keys(struct store_read *read, int64_t author_row, enum key_state state, int limit,
                                 store_author_key_fn fn, void *ctx)
{
    static const struct row_reader reader = {.row = on_key_row};
    struct author_keys_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, state == KEYS_LIVE ? QUERY_KEYS_LIVE : QUERY_KEYS_REVOKED);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, limit);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

enum err store_get_author_key(struct store *s, int64_t author_row, const struct uuid *id,
                              store_author_key_fn fn, void *ctx)
{
    struct author_keys_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = sql_use(s->sql, QUERY_KEY_OF_AUTHOR);
    sql_bind_uuid(q, 1, id);
    sql_bind_i64(q, 2, author_row);
    return row_read_pass(s, s->sql, q, &key_reader, &r);
}

enum next store_read_author_key(struct store_read *read, int64_t author_row, const struct uuid *id,
                                store_author_key_fn fn, void *ctx)
{
    struct author_keys_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, QUERY_KEY_OF_AUTHOR);
    sql_bind_uuid(q, 1, id);
    sql_bind_i64(q, 2, author_row);
    return row_read_run(read, q, &key_reader, &r, sizeof r);
}

enum err store_check_key_limits(struct store *s, int64_t author_row, int64_t replaced_app_row, int64_t now,
                                enum key_limit *reached)
{
    const int32_t today = date_of(now);
    int64_t live, created;
    *reached = KEY_LIMIT_NONE;
    struct sql_statement *q = sql_use(s->sql, QUERY_KEYS_COUNT);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, replaced_app_row);
    enum err err = sql_one_i64(s->sql, q, &live);
    if (err)
        return err;
    /* Revoked keys are never deleted, so this query counts every key created today. */
    q = sql_use(s->sql, QUERY_KEYS_COUNT_CREATED);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, date_start_ms(today));
    sql_bind_i64(q, 3, date_start_ms(today + 1));
    err = sql_one_i64(s->sql, q, &created);
    if (err)
        return err;
    if (live >= AUTHOR_KEYS_MAX)
        *reached = KEY_LIMIT_LIVE;
    else if (created >= AUTHOR_KEYS_PER_DAY)
        *reached = KEY_LIMIT_DAY;
    return OK;
}

/* Reads an author, alone or with an API key. */
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"

struct account_read {
    store_account_fn fn;
    void *ctx;
};

static bool on_account_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct account_read *r = ctx;
    struct author author;
    struct api_key key;
    if (row_to_author(q, 0, &author) && row_to_api_key(q, AUTHOR_COLUMNS, &key))
        return r->fn(r->ctx, &author, &key);
    *err = sql_report_damage(s->sql, "account");
    return false;
}

enum next store_read_account(struct store_read *read, int64_t key_row, store_account_fn fn, void *ctx)
{
    static const struct row_reader reader = {.row = on_account_row, .needs_row = true};
    struct account_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, QUERY_ACCOUNT);
    sql_bind_i64(q, 1, key_row);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

struct author_read {
    struct arena *arena;
    struct author *out;
};

static bool on_author_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct author_read *r = ctx;
    if (!row_to_author(q, 0, r->out))
        *err = sql_report_damage(s->sql, "author");
    r->out->name = row_copy_text(r->arena, r->out->name);
    return false;
}

enum next store_read_author(struct store_read *read, struct arena *arena, int64_t author_row,
                            struct author *out)
{
    static const struct row_reader reader = {.row = on_author_row, .needs_row = true};
    struct author_read r = {.arena = arena, .out = out};
    struct sql_statement *q = row_read_use(read, QUERY_AUTHOR_BY_ROW);
    sql_bind_i64(q, 1, author_row);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

/* Binds values and reads the columns of a received result. */
#include "store/pg/pg_cursor.h"

#include "base/check.h"

void pg_cursor_init(struct pg_cursor *c, const struct sql_engine *engine)
{
    *c = (struct pg_cursor){.statement = {.engine = engine, .handle = c}, .row = -1};
}

static struct pg_value *value_of(struct sql_statement *q, int i)
{
    struct pg_cursor *c = pg_cursor_of(q);
    CHECK(i >= 1 && i <= PG_PARAMS_MAX && !c->result);
    if (i > c->value_count)
        c->value_count = i;
    return &c->values[i - 1];
}

void pg_cursor_bind_i64(struct sql_statement *q, int i, int64_t v)
{
    *value_of(q, i) = (struct pg_value){.kind = PG_VALUE_I64, .i64 = v};
}

void pg_cursor_bind_null(struct sql_statement *q, int i)
{
    *value_of(q, i) = (struct pg_value){.kind = PG_VALUE_NULL};
}

void pg_cursor_bind_text(struct sql_statement *q, int i, struct str s)
{
    *value_of(q, i) = (struct pg_value){.kind = s.p ? PG_VALUE_TEXT : PG_VALUE_NULL, .bytes = s};
}

void pg_cursor_bind_blob(struct sql_statement *q, int i, const void *p, size_t len)
{
    *value_of(q, i) = (struct pg_value){.kind = PG_VALUE_BYTES, .bytes = str_make(p, len)};
}

void pg_cursor_encode(const struct pg_cursor *c, int count, struct pg_params *params)
{
    CHECK(c->value_count <= count);
    pg_params_init(params);
    for (int i = 0; i < count; i++) {
        const struct pg_value *v = &c->values[i];
        if (v->kind == PG_VALUE_I64)
            pg_params_add_i64(params, v->i64);
        else if (v->kind == PG_VALUE_TEXT)
            pg_params_add_text(params, v->bytes);
        else if (v->kind == PG_VALUE_BYTES)
            pg_params_add_bytes(params, v->bytes);
        else
            pg_params_add_null(params);
    }
}

bool pg_cursor_advance(struct pg_cursor *c)
{
    if (c->row + 1 >= pg_result_rows(c->result))
        return false;
    c->row++;
    return true;
}

static struct pg_row row_of(const struct pg_cursor *c)
{
    CHECK(c->row >= 0);
    return (struct pg_row){.result = c->result, .row = c->row};
}

int64_t pg_cursor_i64(struct sql_statement *q, int i)
{
    return pg_cursor_i64_or(q, i, 0);
}

int64_t pg_cursor_i64_or(struct sql_statement *q, int i, int64_t null_value)
{
    struct pg_row row = row_of(pg_cursor_of(q));
    return pg_row_is_null(&row, i) ? null_value : pg_row_i64(&row, i);
}

struct str pg_cursor_text(struct sql_statement *q, int i)
{
    struct pg_row row = row_of(pg_cursor_of(q));
    return pg_row_is_null(&row, i) ? str_make(NULL, 0) : pg_row_bytes(&row, i);
}

/* One statement of the SQL interface (sql.h) on PostgreSQL: the values that are bound to its parameters, and
 * the received result with its current row. The users of a cursor send the statement. */
#ifndef VT_STORE_PG_PG_CURSOR_H
#define VT_STORE_PG_PG_CURSOR_H

#include "pg/pg_params.h"
#include "pg/pg_result.h"
#include "store/sql.h"

enum pg_value_kind { PG_VALUE_NULL, PG_VALUE_I64, PG_VALUE_TEXT, PG_VALUE_BYTES };

struct pg_value {
    enum pg_value_kind kind;
    int64_t i64;
    struct str bytes; /* a text or a blob; not copied */
};

/* The values stay bound when the statement is reset, as with SQLite. */
struct pg_cursor {
    struct sql_statement statement; /* first; its handle points to this struct */
    struct pg_value values[PG_PARAMS_MAX];
    int value_count;                /* the largest bound index */
    const struct pg_result *result; /* NULL: the statement is not in use */
    int row;                        /* the current row; -1 before the first one */
};

/* Initializes a cursor without values. */
void pg_cursor_init(struct pg_cursor *c, const struct sql_engine *engine);

static inline struct pg_cursor *pg_cursor_of(struct sql_statement *q)
{
    return (struct pg_cursor *)q->handle;
}

/* Functions for struct sql_engine. */
void pg_cursor_bind_i64(struct sql_statement *q, int i, int64_t v);
void pg_cursor_bind_null(struct sql_statement *q, int i);
void pg_cursor_bind_text(struct sql_statement *q, int i, struct str s);
void pg_cursor_bind_blob(struct sql_statement *q, int i, const void *p, size_t len);
int64_t pg_cursor_i64(struct sql_statement *q, int i); /* bigint, or a boolean as 0 or 1; NULL is 0 */
int64_t pg_cursor_i64_or(struct sql_statement *q, int i, int64_t null_value);
struct str pg_cursor_text(struct sql_statement *q, int i);

/* Initializes `params` and appends the values 1 to `count`. Values that were not bound are NULL. CHECKs that
 * no value with a larger index is bound. */
void pg_cursor_encode(const struct pg_cursor *c, int count, struct pg_params *params);

/* Advances to the next row. Returns false after the last row. Precondition: the cursor has a result. */
MUST_USE bool pg_cursor_advance(struct pg_cursor *c);

#endif

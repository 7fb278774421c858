/* The SQL interface of a storage engine: prepared statements and their rows. Calls may block, so the event
 * loop uses this interface only if the engine never waits.
 *
 *     struct sql_statement *q = sql_use(sql, QUERY_X);
 *     sql_bind_i64(q, 1, row);
 *     while (sql_row(sql, q, &err))
 *         … sql_i64(q, 0) …
 *
 * sql_row() resets the statement when it returns false; call sql_reset() to leave the loop earlier. Bound
 * texts are not copied: they must stay valid until the statement is reset. Texts of a row are valid until the
 * next sql_row() or sql_reset(). */
#ifndef VT_STORE_SQL_H
#define VT_STORE_SQL_H

#include "base/error.h"
#include "base/str.h"
#include "base/uuid.h"
#include "store/queries.h"

#include <stdbool.h>
#include <stdint.h>

struct sql_engine;

/* One connection. The struct of the engine's connection begins with this struct. */
struct sql {
    const struct sql_engine *engine;
    uint64_t failures; /* number of errors, except violated UNIQUE constraints */
};

/* One prepared statement of queries.h. */
struct sql_statement {
    const struct sql_engine *engine;
    void *handle; /* private to the engine */
};

/* The functions that an engine implements. Each has the contract of the function sql_NAME() below. */
struct sql_engine {
    bool can_nest; /* another statement can run, without a round trip, while the rows of a statement are being
                      read */
    struct sql_statement *(*use)(struct sql *sql, enum query query);
    void (*bind_i64)(struct sql_statement *q, int i, int64_t v);
    void (*bind_null)(struct sql_statement *q, int i);
    void (*bind_text)(struct sql_statement *q, int i, struct str s);
    void (*bind_blob)(struct sql_statement *q, int i, const void *p, size_t len);
    bool (*row)(struct sql *sql, struct sql_statement *q, enum err *err);
    enum err (*write_later)(struct sql *sql, struct sql_statement *q); /* NULL: sql_write() is used */
    void (*reset)(struct sql_statement *q);
    int64_t (*i64)(struct sql_statement *q, int i);
    int64_t (*i64_or)(struct sql_statement *q, int i, int64_t null_value);
    struct str (*text)(struct sql_statement *q, int i);
    int (*count_changes)(struct sql *sql);
    bool (*in_transaction)(const struct sql *sql);
    enum err (*report_damage)(struct sql *sql, const char *what);
    enum err (*prepare_rare)(struct sql *sql); /* NULL: the engine prepares each statement on first use */
};

struct sql_query {
    const char *name;
    const char *text;
};
extern const struct sql_query sql_queries[QUERY_COUNT];

/* Returns a statement whose values can be bound now. CHECKs that it is not in use. */
static inline struct sql_statement *sql_use(struct sql *sql, enum query query)
{
    return sql->engine->use(sql, query);
}

/* Prepares the statements of `viewtally move`, which other connections do not need. Call once, before the
 * first of them is used. */
static inline enum err sql_prepare_rare(struct sql *sql)
{
    return sql->engine->prepare_rare ? sql->engine->prepare_rare(sql) : OK;
}

/* Returns true if a transaction is open. */
static inline bool sql_in_transaction(const struct sql *sql)
{
    return sql->engine->in_transaction(sql);
}

/* Bind a value to parameter `i`, counted from 1. sql_bind_i64_or_null() binds NULL if `v` equals
 * `null_value`. */
static inline void sql_bind_i64(struct sql_statement *q, int i, int64_t v)
{
    q->engine->bind_i64(q, i, v);
}
static inline void sql_bind_null(struct sql_statement *q, int i)
{
    q->engine->bind_null(q, i);
}
void sql_bind_i64_or_null(struct sql_statement *q, int i, int64_t v, int64_t null_value);
void sql_bind_text(struct sql_statement *q, int i, struct str s); /* binds NULL if s.p is NULL */
/* Binds a blob, or NULL if bytes.p is NULL. */
void sql_bind_bytes(struct sql_statement *q, int i, struct str bytes);
void sql_bind_blob(struct sql_statement *q, int i, const void *p, size_t len);
void sql_bind_uuid(struct sql_statement *q, int i, const struct uuid *id);

/* Advances to the next row. Returns false if there are no more rows (`*err` is OK) or if an error occurred
 * (`*err` is the error). In both cases the statement has been reset. */
static inline bool sql_row(struct sql *sql, struct sql_statement *q, enum err *err)
{
    return sql->engine->row(sql, q, err);
}
/* Resets a statement, so that it can be used again. */
static inline void sql_reset(struct sql_statement *q)
{
    q->engine->reset(q);
}

/* Runs a statement that returns no row, and resets it. */
MUST_USE enum err sql_run(struct sql *sql, struct sql_statement *q);

/* Like sql_run(), for a statement that writes. CHECKs that a transaction is open. */
MUST_USE enum err sql_write(struct sql *sql, struct sql_statement *q);
/* Like sql_write(). `*changes` receives the number of rows that the statement itself changed, without the
 * actions of foreign keys. */
MUST_USE enum err sql_write_count(struct sql *sql, struct sql_statement *q, int *changes);
/* Like sql_write(). `*changed` receives whether the statement changed a row. */
MUST_USE enum err sql_write_if(struct sql *sql, struct sql_statement *q, bool *changed);
/* Like sql_write(). Returns ERR_NOT_FOUND if the statement changed no row. */
MUST_USE enum err sql_update(struct sql *sql, struct sql_statement *q);
/* Like sql_write() and sql_update(), but an engine with round trips may send the statement together with the
 * next one. In this case a later call, at the latest store_commit(), returns the error of the statement, and
 * sql_update_later() does not detect a missing row. So use sql_update_later() only for rows that this
 * transaction has read or written. */
MUST_USE enum err sql_write_later(struct sql *sql, struct sql_statement *q);
MUST_USE enum err sql_update_later(struct sql *sql, struct sql_statement *q);
/* Like sql_write(), for a statement that ends with RETURNING id. `*row` receives the id of the new row. */
MUST_USE enum err sql_insert(struct sql *sql, struct sql_statement *q, int64_t *row);

/* Runs a statement that returns at most one row. On OK the statement is positioned on the row: read the
 * columns, then call sql_reset(). Returns ERR_NOT_FOUND if there is no row. */
MUST_USE enum err sql_one(struct sql *sql, struct sql_statement *q);
/* Runs a statement that returns at most one integer, and resets it. Returns ERR_NOT_FOUND if there is no row.
 */
MUST_USE enum err sql_one_i64(struct sql *sql, struct sql_statement *q, int64_t *out);

/* Return column `i` of the current row, counted from 0. */
static inline int64_t sql_i64(struct sql_statement *q, int i)
{
    return q->engine->i64(q, i);
}
/* Like sql_i64(), but returns `null_value` if the column is NULL. */
static inline int64_t sql_i64_or(struct sql_statement *q, int i, int64_t null_value)
{
    return q->engine->i64_or(q, i, null_value);
}
/* Returns a text or a blob. Its `p` is NULL if the column is NULL. */
static inline struct str sql_text(struct sql_statement *q, int i)
{
    return q->engine->text(q, i);
}
/* Copies a blob. Returns false if it does not have exactly `len` bytes, which means that the database is
 * damaged. */
MUST_USE bool sql_bytes(struct sql_statement *q, int i, void *out, size_t len);

/* Logs that a row is damaged and returns ERR_CORRUPT. `what` names the row. */
static inline enum err sql_report_damage(struct sql *sql, const char *what)
{
    return sql->engine->report_damage(sql, what);
}

#endif

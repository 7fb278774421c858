/* The functions of the SQL interface that do not depend on the storage engine. */
#include "store/sql.h"

#include "base/check.h"

#include <string.h>

#define AS_QUERY(name, text) [QUERY_##name] = {#name, text},
const struct sql_query sql_queries[QUERY_COUNT] = {STORE_QUERIES(AS_QUERY)};
#undef AS_QUERY

void sql_bind_i64_or_null(struct sql_statement *q, int i, int64_t v, int64_t null_value)
{
    if (v == null_value)
        sql_bind_null(q, i);
    else
        sql_bind_i64(q, i, v);
}

void sql_bind_text(struct sql_statement *q, int i, struct str s)
{
    q->engine->bind_text(q, i, s);
}

void sql_bind_blob(struct sql_statement *q, int i, const void *p, size_t len)
{
    q->engine->bind_blob(q, i, p, len);
}

void sql_bind_bytes(struct sql_statement *q, int i, struct str bytes)
{
    if (bytes.p)
        sql_bind_blob(q, i, bytes.p, bytes.len);
    else
        sql_bind_null(q, i);
}

void sql_bind_uuid(struct sql_statement *q, int i, const struct uuid *id)
{
    sql_bind_blob(q, i, id->b, sizeof id->b);
}

enum err sql_run(struct sql *sql, struct sql_statement *q)
{
    enum err err;
    bool row = sql_row(sql, q, &err);
    CHECK(!row);
    return err;
}

enum err sql_write(struct sql *sql, struct sql_statement *q)
{
    CHECK(sql_in_transaction(sql));
    return sql_run(sql, q);
}

enum err sql_write_count(struct sql *sql, struct sql_statement *q, int *changes)
{
    enum err err = sql_write(sql, q);
    *changes = err ? 0 : sql->engine->count_changes(sql);
    return err;
}

enum err sql_write_if(struct sql *sql, struct sql_statement *q, bool *changed)
{
    int changes;
    enum err err = sql_write_count(sql, q, &changes);
    *changed = changes > 0;
    return err;
}

enum err sql_update(struct sql *sql, struct sql_statement *q)
{
    int changes;
    enum err err = sql_write_count(sql, q, &changes);
    if (err)
        return err;
    return changes ? OK : ERR_NOT_FOUND;
}

enum err sql_write_later(struct sql *sql, struct sql_statement *q)
{
    CHECK(sql_in_transaction(sql));
    return sql->engine->write_later ? sql->engine->write_later(sql, q) : sql_run(sql, q);
}

enum err sql_update_later(struct sql *sql, struct sql_statement *q)
{
    return sql->engine->write_later ? sql_write_later(sql, q) : sql_update(sql, q);
}

enum err sql_insert(struct sql *sql, struct sql_statement *q, int64_t *row)
{
    CHECK(sql_in_transaction(sql));
    const enum err err = sql_one_i64(sql, q, row);
    return err == ERR_NOT_FOUND ? sql_report_damage(sql, "id of the inserted row") : err;
}

enum err sql_one(struct sql *sql, struct sql_statement *q)
{
    enum err err;
    if (sql_row(sql, q, &err))
        return OK;
    return err ? err : ERR_NOT_FOUND;
}

enum err sql_one_i64(struct sql *sql, struct sql_statement *q, int64_t *out)
{
    enum err err = sql_one(sql, q);
    if (err)
        return err;
    *out = sql_i64(q, 0);
    sql_reset(q);
    return OK;
}

bool sql_bytes(struct sql_statement *q, int i, void *out, size_t len)
{
    struct str s = sql_text(q, i);
    if (s.len != len)
        return false;
    memcpy(out, s.p, len);
    return true;
}

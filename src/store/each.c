/* Knows the function of SQL and what a value holds; nothing of statements or of what the rows mean. */
#include "store/each.h"

#include "base/check.h"

#include <sqlite3.h>

/* What is not true passes the row over. */
static void on_row(sqlite3_context *context, int count, sqlite3_value **row)
{
    const struct db *db = sqlite3_user_data(context);
    (void)count;
    CHECK(db->each_fn);
    if (!db->each_fn(db->each_ctx, row))
        sqlite3_result_int(context, 1);
}

bool each_register(struct db *db)
{
    enum { ANY_COUNT = -1 };
    return sqlite3_create_function_v2(db->handle, "each", ANY_COUNT, SQLITE_UTF8, db, on_row, NULL, NULL,
                                      NULL) == SQLITE_OK;
}

bool db_each(struct db *db, struct sqlite3_stmt *q, each_fn fn, void *ctx, enum err *err)
{
    const each_fn outer = db->each_fn;
    void *const outer_ctx = db->each_ctx;
    db->each_fn = fn;
    db->each_ctx = ctx;
    *err = OK;
    bool stopped = db_row(db, q, err);
    db->each_fn = outer;
    db->each_ctx = outer_ctx;
    return stopped;
}

int64_t value_i64(sqlite3_value *v)
{
    return sqlite3_value_int64(v);
}

int64_t value_i64_or(sqlite3_value *v, int64_t null_value)
{
    return sqlite3_value_type(v) == SQLITE_NULL ? null_value : sqlite3_value_int64(v);
}

struct str value_text(sqlite3_value *v)
{
    if (sqlite3_value_type(v) == SQLITE_NULL)
        return str_make(NULL, 0);
    /* As a blob: the bytes as they are. An empty value has no pointer. */
    const char *p = sqlite3_value_blob(v);
    return str_make(p ? p : "", p ? (size_t)sqlite3_value_bytes(v) : 0);
}

bool value_bytes(sqlite3_value *v, void *out, size_t len)
{
    struct str s = value_text(v);
    if (s.len != len)
        return false;
    memcpy(out, s.p, len);
    return true;
}

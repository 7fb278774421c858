/* The rows of a longer read, each in a call, all in one step of SQLite. A statement says of itself that it is
 * read so: its WHERE ends in `each(columns ...)`, and what it selects means nothing.
 *
 *     SELECT 1 FROM events e WHERE e.author_id = ?1 AND each(e.id, e.type) ORDER BY e.id
 *
 * each() hands the row to the callback and passes it over, so the statement never leaves its loop for it, and
 * the values need no look-up of a column. Three things are the statement's to see to (test_store_plans holds
 * them): each() is its last condition, as it is asked in turn with the others; rows come in the order of an
 * index, as a sorter would come after it; and the callback bounds their number, as LIMIT counts only what is
 * not passed over. */
#ifndef VT_STORE_EACH_H
#define VT_STORE_EACH_H

#include "base/str.h"
#include "store/db.h"

struct sqlite3_value;

/* `row` has the values that each() names. They and their texts live until it returns. It may run other
 * statements, also with db_each(). False: no further row. */
typedef bool (*each_fn)(void *ctx, struct sqlite3_value **row);

/* True, and `*err` is OK: the callback has stopped behind its last row. The next call goes on with the row
 * after it; who does not want that calls db_reset(). False: as db_row(). */
bool db_each(struct db *db, struct sqlite3_stmt *q, each_fn fn, void *ctx, enum err *err);

/* One of the row. */
int64_t value_i64(struct sqlite3_value *v);
int64_t value_i64_or(struct sqlite3_value *v, int64_t null_value);
struct str value_text(struct sqlite3_value *v); /* text or blob; NULL: p == NULL */
/* False when it does not hold exactly `len` bytes: a damaged database. */
MUST_USE bool value_bytes(struct sqlite3_value *v, void *out, size_t len);

/* Makes each() known to a connection that was just opened; for db_open(), which keeps what a database brings
 * along from calling it. False: no memory. */
MUST_USE bool each_register(struct db *db);

#endif

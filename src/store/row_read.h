/* Runs the reads of the event loop. Each read is one statement, which completes immediately or later.
 *
 *     struct sql_statement *q = row_read_use(read, QUERY_X);
 *     sql_bind_i64(q, 1, row);
 *     return row_read_run(read, q, &x_reader, &ctx, sizeof ctx);
 *
 * A read is one statement, so that all its rows are of one snapshot. A value that must agree with the rows,
 * such as the author's revision, is read as a column of the same statement.
 *
 * An engine that never waits runs the statement at once. Otherwise a driver sends it, and the rows arrive
 * after the function that started the read has returned. So the driver copies the bound values and `ctx`,
 * which must not point to variables of that function. */
#ifndef VT_STORE_ROW_READ_H
#define VT_STORE_ROW_READ_H

#include "store/read.h"
#include "store/sql.h"

struct row_reader {
    /* Called for each row, in order. Returns false to end the read early. If the row is damaged, sets `*err`,
     * which is OK before the call, and returns false. */
    bool (*row)(struct store *s, struct sql_statement *q, void *ctx, enum err *err);
    /* Called after the last row with the error of the read so far; returns the error of the read. May be
     * NULL. The driver calls `row` for all rows and then `end`, without a pause in between. If the read is
     * canceled, or fails before its rows arrive, it calls neither. */
    enum err (*end)(struct store *s, void *ctx, enum err err);
    bool needs_row; /* if there is no row, the read returns ERR_NOT_FOUND */
};

/* Begins a read. Returns a statement whose values can be bound now. */
struct sql_statement *row_read_use(struct store_read *read, enum query query);

/* Runs the read as described in read.h. `size` is the size of `*ctx`, at most ROW_READ_CTX_MAX. */
enum { ROW_READ_CTX_MAX = 256 };
enum next row_read_run(struct store_read *read, struct sql_statement *q, const struct row_reader *reader,
                       void *ctx, size_t size);

/* Passes all rows of the statement to the reader, and resets the statement. Only drivers and functions that
 * may block call this function. Functions that may block get the statement from sql_use(). */
MUST_USE enum err row_read_pass(struct store *s, struct sql *sql, struct sql_statement *q,
                                const struct row_reader *reader, void *ctx);

/* ---- for drivers ---- */

/* Completes reads later: arms read->wait, copies the bound values and `*ctx`, passes the rows to the reader
 * when they have arrived, calls store_read_end() and completes the waiter. The struct of a driver begins with
 * this struct. Its functions have the same contracts as row_read_use() and row_read_run(). */
struct row_driver {
    struct sql_statement *(*use)(struct store_read *read, enum query query);
    enum next (*run)(struct store_read *read, struct sql_statement *q, const struct row_reader *reader,
                     const void *ctx, size_t size);
};

#endif

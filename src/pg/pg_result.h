/* Results of PostgreSQL, in the binary format. A result is valid until the callback that receives it returns,
 * unless the callback keeps it (pg_connection_keep_result()). The strings point into the result.
 *
 * The functions of struct pg_row never fail. If a value is NULL, or its size does not fit the type, they set
 * `bad` and return 0. So read a whole row, then test `bad` once. The sizes are checked because the server is
 * not trusted to send the declared types. */
#ifndef VT_PG_PG_RESULT_H
#define VT_PG_PG_RESULT_H

#include "base/str.h"

#include <stdint.h>

struct pg_result; /* libpq's PGresult */

int pg_result_rows(const struct pg_result *result);
int pg_result_columns(const struct pg_result *result);
/* Returns the number of rows that the statement has inserted, changed, deleted or returned. */
int64_t pg_result_changes(const struct pg_result *result);
/* Returns true if the statement was this command, for example "COMMIT". The COMMIT of a failed transaction is
 * reported as "ROLLBACK". */
bool pg_result_is_command(const struct pg_result *result, const char *command);
/* Frees a result that a callback has kept. `result` may be NULL. */
void pg_result_free(const struct pg_result *result);

struct pg_row {
    const struct pg_result *result;
    int row;
    bool bad; /* set by the functions below */
};

/* Returns true if the value is NULL. A column that does not exist is NULL. */
bool pg_row_is_null(const struct pg_row *row, int column);
int64_t pg_row_i64(struct pg_row *row, int column); /* smallint, integer, bigint, timestamptz, boolean */
bool pg_row_bool(struct pg_row *row, int column);
struct str pg_row_bytes(struct pg_row *row, int column); /* text, bytea, uuid (16 bytes) */

#endif

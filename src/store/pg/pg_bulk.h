/* Saves the counts of many videos with one statement, instead of one QUERY_SAVE_COUNTS for each call of
 * sql_write_later(). PostgreSQL needs half as much time for this statement as for the single ones. */
#ifndef VT_STORE_PG_PG_BULK_H
#define VT_STORE_PG_PG_BULK_H

#include "store/pg/pg_cursor.h"

enum { PG_BULK_MAX = 200, PG_BULK_COLUMNS = 10 };

extern const char pg_bulk_name[], pg_bulk_text[];

/* The rows that the next statement will save. */
struct pg_bulk {
    int count;
    int64_t video_rows[PG_BULK_MAX];
    struct pg_array columns[PG_BULK_COLUMNS];
};

void pg_bulk_init(struct pg_bulk *bulk);
void pg_bulk_fini(struct pg_bulk *bulk);

/* Copies the values that are bound to `c`, a cursor of QUERY_SAVE_COUNTS. Returns false if `bulk` is full, or
 * if it already contains the video, because an UPDATE changes a row only once. */
MUST_USE bool pg_bulk_add(struct pg_bulk *bulk, const struct pg_cursor *c);

/* Initializes `params` with the parameters of the statement, and empties `bulk`. */
void pg_bulk_take(struct pg_bulk *bulk, struct pg_params *params);

/* Discards the rows. */
void pg_bulk_clear(struct pg_bulk *bulk);

#endif

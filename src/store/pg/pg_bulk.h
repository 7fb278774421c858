/* Saves the counts of many videos with one statement: the rows of QUERY_SAVE_COUNTS that sql_write_later()
 * has collected. PostgreSQL needs half of the time for such a statement. */
#ifndef VT_STORE_PG_PG_BULK_H
#define VT_STORE_PG_PG_BULK_H

#include "store/pg/pg_cursor.h"

enum { PG_BULK_MAX = 200, PG_BULK_COLUMNS = 10 };

extern const char pg_bulk_name[], pg_bulk_text[];

/* Zeroed: empty. */
struct pg_bulk {
    int count;
    int64_t video_rows[PG_BULK_MAX];
    struct pg_array columns[PG_BULK_COLUMNS];
};

void pg_bulk_init(struct pg_bulk *bulk);
void pg_bulk_fini(struct pg_bulk *bulk);

/* Copies the values of the cursor, which is one of QUERY_SAVE_COUNTS. Returns false if the statement already
 * contains the video, which a statement changes only once, or if it is full. */
MUST_USE bool pg_bulk_add(struct pg_bulk *bulk, const struct pg_cursor *c);

/* Initializes `params` with the parameters of the statement, and empties `bulk`. */
void pg_bulk_take(struct pg_bulk *bulk, struct pg_params *params);

/* Discards the rows. */
void pg_bulk_clear(struct pg_bulk *bulk);

#endif

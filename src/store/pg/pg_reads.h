/* The driver (row_read.h) for reads that the event loop makes from PostgreSQL. It sends each read on a
 * link. */
#ifndef VT_STORE_PG_PG_READS_H
#define VT_STORE_PG_PG_READS_H

#include "store/pg/pg_links.h"
#include "store/row_read.h"

struct pg_reads {
    struct row_driver driver; /* first */
    struct pg_link *link;
};

/* Opens the link, which connects in the background. Reads are held until the link is up. */
MUST_USE enum err pg_reads_open(struct pg_reads *reads, const struct store_options *options,
                                struct error *error);

/* Closes the link. Does nothing if the link is not open. Precondition: no read is waiting. */
void pg_reads_close(struct pg_reads *reads);

/* ---- received results ---- */

/* Initializes a cursor on a result, for the functions of sql.h that read rows. Pass &pg_received to
 * sql_row(). Resetting the cursor does not free the result. */
struct pg_cursor;
void pg_received_begin(struct pg_cursor *c, const struct pg_result *result);
extern struct sql pg_received;

#endif

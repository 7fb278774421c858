/* The driver (row_read.h) for reads that the event loop makes from PostgreSQL. It sends each read on the link
 * on which the fewest reads wait, so that a long read delays others only if all links are in use. */
#ifndef VT_STORE_PG_PG_READS_H
#define VT_STORE_PG_PG_READS_H

#include "store/pg/pg_links.h"
#include "store/row_read.h"
#include "store/store.h"

struct pg_reads {
    struct row_driver driver; /* first */
    struct pg_link *links[STORE_CONNECTIONS_MAX];
    int count; /* number of open links */
    int last;  /* index of the link that has sent the latest read */
};

/* Opens options->connections links, which connect in the background. Reads are held until a link is up. If it
 * fails, call pg_reads_close(). */
MUST_USE enum err pg_reads_open(struct pg_reads *reads, const struct store_options *options,
                                struct error *error);

/* Closes the open links. Precondition: no read is waiting. */
void pg_reads_close(struct pg_reads *reads);

/* Returns the status of a link that is up; if none is, that of the first link. But `held` and `in_flight` are
 * the totals of all links. */
struct pg_status pg_reads_get_status(const struct pg_reads *reads);

/* Returns the number of batches that all links have sent. */
unsigned long long pg_reads_count_batches(const struct pg_reads *reads);

/* ---- received results ---- */

/* Initializes a cursor on a result, for the functions of sql.h that read rows. Pass &pg_received to
 * sql_row(). Resetting the cursor does not free the result. */
struct pg_cursor;
void pg_received_begin(struct pg_cursor *c, const struct pg_result *result);
extern struct sql pg_received;

#endif

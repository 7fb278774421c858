/* The delayed statements of sql_write_later(). They are sent with the next batch, so that they cost no round
 * trip. Their errors are reported at the end of that batch. */
#ifndef VT_STORE_PG_PG_LATER_H
#define VT_STORE_PG_PG_LATER_H

#include "store/pg/pg_bulk.h"
#include "store/pg/pg_session.h"

enum { PG_LATER_MAX = 200 };

struct pg_later {
    enum query
        queries[PG_LATER_MAX]; /* in the output buffer of the session; the next batch begins with them */
    int count;
    struct pg_bulk bulk; /* rows that are being collected; not in the output buffer yet */
    const char *failed;  /* name of the delayed statement that made the last batch fail; NULL: none did */
};

void pg_later_init(struct pg_later *l);
void pg_later_fini(struct pg_later *l);

/* Discards all delayed statements. Call when the connection is lost. */
void pg_later_clear(struct pg_later *l);

/* Returns true if no statement can be added before the batch is sent. */
bool pg_later_is_full(const struct pg_later *l);

/* Appends a prepared statement. Precondition: not full. */
void pg_later_add(struct pg_later *l, struct pg_session *s, enum query query, const struct pg_params *params);

/* Appends the statement that saves the collected rows, if there are any. Call before appending a statement
 * that is not delayed, which may depend on these rows. */
void pg_later_append_bulk(struct pg_later *l, struct pg_session *s);

/* Call when a batch has ended with `err`. Returns the error to report to the caller, whose own statement was
 * in this batch, too. If a delayed statement has failed with ERR_EXISTS or ERR_INVALID, returns ERR_INTERNAL,
 * because the caller would relate these codes to its own statement. */
MUST_USE enum err pg_later_end_batch(struct pg_later *l, const struct pg_session *s, enum err err);

#endif

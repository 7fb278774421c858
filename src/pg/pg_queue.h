/* The queries of a link, in the order in which they are sent and answered. A query is in one of three lists:
 *
 *   held ----pg_queue_send()--> in_flight --result--> completed
 *   alone ---pg_queue_send()--> in_flight          (each in a batch of its own)
 *   in_flight --skipped, because another query of its batch failed--> alone
 *   in_flight --connection lost, or result not trusted; only reads--> held
 *
 * A write completes at its synchronization point, because that is where it is committed. */
#ifndef VT_PG_PG_QUEUE_H
#define VT_PG_PG_QUEUE_H

#include "base/list.h"
#include "pg/pg_link.h"

struct pg_query;

struct pg_queue {
    struct list held, alone, in_flight; /* in_flight also contains the synchronization points */
    struct pg_query *unsynced; /* the write whose result has arrived, but not its commit; in no list */
    const struct pg_statement *statements;
    int held_count, in_flight_count; /* queries, without synchronization points and internal commands */
    struct pg_counts counts;
};

/* Called with the result or the error of an internal command, which is a command of the link itself. If the
 * command is a write, called again after the commit, with neither result nor error. Not called if PostgreSQL
 * has skipped the command. */
typedef void pg_internal_fn(void *ctx, int id, const struct pg_result *result, const struct pg_error *error);

void pg_queue_init(struct pg_queue *q, const struct pg_statement *statements);

/* Frees the canceled queries. Precondition: no waiter is armed. */
void pg_queue_fini(struct pg_queue *q);

/* Adds a query, see pg_link_query(), unless `max` queries are held or in flight. */
enum next pg_queue_add(struct pg_queue *q, int max, int statement, struct pg_params *params, struct waiter *w,
                       struct pg_reply *reply);

/* Appends held queries to the output buffer of the connection, as long as fewer than 128 queries are in
 * flight. Returns the number of appended queries. Returns -1 if out of memory; the connection is then
 * unusable. Call in each loop iteration, so that the rest is sent when results have arrived. */
MUST_USE int pg_queue_send(struct pg_queue *q, struct pg_connection *connection);

/* Adds a command of the link itself to the queries in flight. Call it after the command has been appended to
 * the output buffer. `id` is passed to `done`; for its calls see pg_internal_fn. Returns false if out of
 * memory. */
MUST_USE bool pg_queue_add_internal(struct pg_queue *q, bool is_read, int id, pg_internal_fn *done,
                                    void *ctx);
/* Adds a synchronization point in the same way. */
MUST_USE bool pg_queue_add_sync(struct pg_queue *q);

/* Handles a call of pg_connection_events.got. `is_trusted` is false while the link is not up or its
 * barrier is not valid (pg_link.h); then discards the results of reads, and holds these reads to send them
 * again. Returns false if the server has sent an unexpected message. */
MUST_USE bool pg_queue_got(struct pg_queue *q, enum pg_got got, const struct pg_result *result,
                           const struct pg_error *error, bool is_trusted,
                           const struct pg_incarnation *incarnation);

/* Call when the connection is lost: holds the reads in flight again, except those whose result was decoded,
 * and completes the writes with ERR_IO. */
void pg_queue_lost(struct pg_queue *q);

/* Completes the held queries that are older than `hold_ms` with ERR_BUSY. */
void pg_queue_expire(struct pg_queue *q, int hold_ms);

/* Returns for how long the oldest query in flight has been waiting, in ms. Returns 0 if no query is in
 * flight, or if an internal command precedes it, because the barrier and the opening batch have their own
 * deadlines. */
int64_t pg_queue_oldest_ms(const struct pg_queue *q);

/* Translates an SQLSTATE. */
enum err pg_error_of(const char *sqlstate);

#endif

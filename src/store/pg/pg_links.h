/* The statements that the links of a store prepare, and how a link is opened. */
#ifndef VT_STORE_PG_PG_LINKS_H
#define VT_STORE_PG_PG_LINKS_H

#include "pg/pg_link.h"
#include "store/sql.h"

struct store_options;

/* The reads that links can send: the numbers below QUERY_COUNT are statements of queries.h, and these two are
 * statements of pg_queries.h. */
enum { PG_READ_KEY_OWNERS = QUERY_COUNT, PG_READ_HEADS, PG_READS };

/* The uses of a link. A connection replies in the order of the requests, so heads (pg_heads.h) have a link of
 * their own, on which they never wait for long results of other reads. The other reads share
 * options->connections links (pg_reads.h). */
enum pg_link_use { PG_LINK_HEADS, PG_LINK_PAGES, PG_LINK_USES };

/* Opens a link on options->loop to options->url. The link connects in the background. `number` distinguishes
 * the links of one use; it is less than STORE_CONNECTIONS_MAX. */
MUST_USE enum err pg_links_open(struct pg_link **out, const struct store_options *options,
                                enum pg_link_use use, int number, struct error *error);

/* Returns how many reads a link may hold while it is not up. Each use has an equal share of
 * options->held_max, because in an outage nearly all requests wait for the link of the heads. */
int pg_links_held_max(const struct store_options *options, enum pg_link_use use);

/* Starts a statement on a link, see pg_link_query(). `read` is a query of queries.h for PG_LINK_PAGES, and
 * one of the constants above for PG_LINK_HEADS. */
enum next pg_links_query(struct pg_link *link, int read, struct pg_params *params, struct waiter *w,
                         struct pg_reply *reply);

/* Logs the statement of a read if it was slow, and requests its plan if it is a query of queries.h. Call when
 * its result has arrived. */
void pg_links_report_slow(int read, const struct pg_reply *reply);

/* Returns a number that identifies the incarnation, for key_owner.incarnation. It is never 0. */
uint64_t pg_links_incarnation(const struct pg_incarnation *incarnation);

#endif

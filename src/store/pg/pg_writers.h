/* The rows of `barriers` that count write transactions. Each connection that has written has a row of its
 * own, whose number every write transaction of the connection increments. The number is 0 if the connection
 * has only proved that its server is the primary. The rows of the links (pg_links.h) are in the same table,
 * and every barrier increments their numbers. */
#ifndef VT_STORE_PG_PG_WRITERS_H
#define VT_STORE_PG_PG_WRITERS_H

#include "store/pg/pg_session.h"

enum { PG_WRITER_MAX = 48 };

/* The writer of one connection. If the connection is lost during a commit, the number in the row shows
 * whether the transaction was committed. */
struct pg_writer {
    char name[PG_WRITER_MAX]; /* key of the row */
    bool has_purged;          /* the rows of `barriers` that are older than a day were deleted */
    int64_t committed_ms;     /* time of the last commit or attempt to prove that the server is the primary,
                                 by clock_connection_ms() */
};

/* Matches the column `process` of the rows of writers: the name is "writer" and a UUID. The pattern contains
 * the hyphen because a link has the name "writer heads" if its host has the name "writer". */
#define PG_WRITER_PATTERN "'writer %-%'"

/* Selects a text that changes with every write transaction. It does not change with the other rows of the
 * table, which read connections write to prove that the server is the primary. NULL: no writer. */
#define PG_WRITERS_STATE                                                                                     \
    "SELECT sum(hashtextextended(process, n))::text FROM barriers WHERE n > 0 AND "                          \
    "process LIKE " PG_WRITER_PATTERN

/* Sets a unique name. */
void pg_writer_init(struct pg_writer *w);

/* Appends a statement that adds `step` to the number. Its row consists of the sum and the process id of the
 * backend. Precondition: the transaction holds the lock of PG_SQL_LOCK. */
void pg_writer_add(struct pg_writer *w, struct pg_session *s, int64_t step);

/* Call when a write transaction is committed. */
void pg_writer_committed(struct pg_writer *w);

/* Proves that the server is the primary by a commit that changes no number, unless the connection has
 * committed or tried to prove this in the last 30 s. An old primary that is cut off from its standbys replies
 * to reads, but does not end a commit (pg_session.h). Errors are those of pg_session_run(). */
MUST_USE enum err pg_writer_prove_primary(struct pg_writer *w, struct pg_session *s);

#endif

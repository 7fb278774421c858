/* The rows of `barriers` that count write transactions. Each connection that has written has a row of its
 * own, whose number every write transaction of the connection increments. The rows of the links (pg_links.h)
 * are in the same table, and every barrier increments their numbers. */
#ifndef VT_STORE_PG_PG_WRITERS_H
#define VT_STORE_PG_PG_WRITERS_H

enum { PG_WRITER_MAX = 48 };

/* Matches the column `process` of the rows of writers: the name is "writer" and a UUID. The pattern contains
 * the hyphen because a link has the name "writer heads" if its host has the name "writer". */
#define PG_WRITER_PATTERN "'writer %-%'"

/* Adds $2 to the number of the writer $1, and returns the sum. */
#define PG_WRITER_ADD                                                                                        \
    "INSERT INTO barriers (process, n, at) VALUES ($1::text, $2::bigint, now()) "                            \
    "ON CONFLICT (process) DO UPDATE SET n = barriers.n + excluded.n, at = now() RETURNING n"

/* Returns a text that changes with every write transaction, and not with a barrier. NULL: no writer. */
#define PG_WRITERS_STATE                                                                                     \
    "SELECT sum(hashtextextended(process, n))::text FROM barriers WHERE process LIKE " PG_WRITER_PATTERN

/* Makes a name that no other connection has. */
void pg_writer_make_name(char name[PG_WRITER_MAX]);

#endif

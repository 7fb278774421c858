/* A text dump of a database. The dump contains everything that a response can show or that the finalizing
 * of an import needs, but nothing that depends on how the data got into the database (row ids, revisions,
 * event ids, creation times). Databases with equal dumps return equal responses. */
#ifndef VT_TEST_DUMP_H
#define VT_TEST_DUMP_H

#include "base/buf.h"

/* Appends the dump to `out`. Opens its own connection. */
void dump_database(const char *path, struct buf *out);

/* Fails the test if the dumps differ, and prints the first different line. */
void assert_same_dump(const struct buf *expected, const struct buf *found);

/* Returns the single integer of a query. */
int64_t query_i64(const char *path, const char *sql);

#endif

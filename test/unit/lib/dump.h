/* What a database says, as text: everything that an answer could show and the closing pass needs, and nothing
 * that may differ between two ways to the same state (row numbers, revisions, numbers of events; times of
 * creation). Two databases with the same dump answer alike. */
#ifndef VT_TEST_DUMP_H
#define VT_TEST_DUMP_H

#include "base/buf.h"

/* Appends to `out`, through a connection of its own. */
void dump_database(const char *path, struct buf *out);

/* Fails the test when the two differ, and prints the first line that does. */
void assert_same_dump(const struct buf *expected, const struct buf *found);

/* The one integer that the query gives. */
int64_t query_i64(const char *path, const char *sql);

#endif

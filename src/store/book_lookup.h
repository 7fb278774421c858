/* Finds the book of each row of a list. With SQLite, a second statement looks up the book, but only if the
 * book differs from the book of the previous row. This is faster than a join. If an engine cannot nest
 * statements, its list statements join the books instead. */
#ifndef VT_STORE_BOOK_LOOKUP_H
#define VT_STORE_BOOK_LOOKUP_H

#include "store/handle.h"

/* A zeroed struct is empty. */
struct book_lookup {
    int64_t row; /* row id of the most recently found book; 0: none */
    struct sql_statement *q;
    struct book_ref ref;
};

/* Sets lookup->ref to the book of the current row of `q`, or to an empty reference if the row has none. The
 * reference is valid until the next call. The query must return the book's row id in column `column` and, for
 * an engine that cannot nest statements, the columns of SQL_BOOK_REF right after it. */
MUST_USE enum err book_lookup_find(struct book_lookup *lookup, struct store *s, struct sql_statement *q,
                                   int column);

/* Ends the lookup statement. Call after the last row. */
void book_lookup_end(struct book_lookup *lookup);

#endif

/* Looks up the books of the videos that one read returns. Most videos of a page share one or two books, so
 * the last book is cached. A lookup is valid within one snapshot. */
#ifndef VT_STORE_BOOK_LOOKUP_H
#define VT_STORE_BOOK_LOOKUP_H

#include "store/sql.h"
#include "store/model.h"

struct book_lookup {
    int64_t row;             /* 0: none */
    struct sql_statement *q; /* positioned on the book, which keeps its texts valid; NULL: none */
    struct book_ref ref;
};

/* Sets lookup->ref to the book with this row. If `row` is 0, lookup->ref has no book. Zero `lookup` before
 * the first call. The texts are valid until the next call. */
MUST_USE enum err book_lookup_find(struct book_lookup *lookup, struct sql *sql, int64_t row);
/* Ends the lookup by resetting its statement. Call before the snapshot ends. */
void book_lookup_end(struct book_lookup *lookup);

#endif

/* Looks up the books of the videos of one read. Most rows of a page share one or two books, so the last book
 * is cached. Use it within one snapshot. */
#ifndef VT_STORE_BOOK_LOOKUP_H
#define VT_STORE_BOOK_LOOKUP_H

#include "store/db.h"
#include "store/model.h"

struct book_lookup {
    int64_t row;            /* 0: none */
    struct sqlite3_stmt *q; /* positioned on the book, so that its texts stay valid; NULL: none */
    struct book_ref ref;
};

/* Sets `lookup->ref` to the book with this row, or to none if `row` is 0. `lookup` starts zeroed. The texts
 * are valid until the next call. */
MUST_USE enum err book_lookup_find(struct book_lookup *lookup, struct db *db, int64_t row);
/* Resets the statement. Call it before the snapshot ends. */
void book_lookup_end(struct book_lookup *lookup);

#endif

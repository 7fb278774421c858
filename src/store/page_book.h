/* The book of the last video that was read: most of a page is about one or two, so each is looked up once.
 * Part of the snapshot of the statement that gives the videos, which must stand on a row. */
#ifndef VT_STORE_PAGE_BOOK_H
#define VT_STORE_PAGE_BOOK_H

#include "store/db.h"
#include "store/model.h"

struct page_book {
    int64_t row;            /* 0: none */
    struct sqlite3_stmt *q; /* stands on the book, so its texts live; NULL: none */
    struct book_ref ref;
};

/* Makes `book`, which starts as zeros, that of this row (0: a video without one). */
MUST_USE enum err page_book_find(struct page_book *book, struct db *db, int64_t row);
/* Ends its statement: before the snapshot is over. */
void page_book_end(struct page_book *book);

#endif

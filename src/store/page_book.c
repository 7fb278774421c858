/* One look-up for a run of videos of the same book. */
#include "store/page_book.h"

#include "store/rows.h"

static enum err look_up(struct page_book *book, struct db *db)
{
    book->q = db_use(db, QUERY_BOOK_REF);
    db_bind_i64(book->q, 1, book->row);
    enum err err = db_one(db, book->q);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    return row_book_ref(book->q, 0, &book->ref) ? OK : db_damaged(db, "book");
}

enum err page_book_find(struct page_book *book, struct db *db, int64_t row)
{
    if (row == book->row)
        return OK;
    page_book_end(book);
    book->row = row;
    return row ? look_up(book, db) : OK;
}

void page_book_end(struct page_book *book)
{
    if (book->q)
        db_reset(book->q);
    *book = (struct page_book){.row = 0};
}

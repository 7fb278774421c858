/* Looks up books by row and caches the last one. */
#include "store/book_lookup.h"

#include "store/rows.h"

static enum err look_up(struct book_lookup *lookup, struct db *db)
{
    lookup->q = db_use(db, QUERY_BOOK_REF);
    db_bind_i64(lookup->q, 1, lookup->row);
    enum err err = db_one(db, lookup->q);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    return row_book_ref(lookup->q, 0, &lookup->ref) ? OK : db_damaged(db, "book");
}

enum err book_lookup_find(struct book_lookup *lookup, struct db *db, int64_t row)
{
    if (row == lookup->row)
        return OK;
    book_lookup_end(lookup);
    lookup->row = row;
    return row ? look_up(lookup, db) : OK;
}

void book_lookup_end(struct book_lookup *lookup)
{
    if (lookup->q)
        db_reset(lookup->q);
    *lookup = (struct book_lookup){.row = 0};
}

/* Looks up books by row id and caches the book that was found most recently. */
#include "store/book_lookup.h"

#include "store/rows.h"

static enum err look_up(struct book_lookup *lookup, struct sql *sql)
{
    lookup->q = sql_use(sql, QUERY_BOOK_REF);
    sql_bind_i64(lookup->q, 1, lookup->row);
    enum err err = sql_one(sql, lookup->q);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    return row_to_book_ref(lookup->q, 0, &lookup->ref) ? OK : sql_report_damage(sql, "book");
}

enum err book_lookup_find(struct book_lookup *lookup, struct store *s, struct sql_statement *q, int column)
{
    if (!q->engine->can_nest)
        return row_to_book_ref(q, column + 1, &lookup->ref) ? OK : sql_report_damage(s->sql, "book");
    const int64_t row = sql_i64_or(q, column, 0);
    if (row == lookup->row)
        return OK;
    book_lookup_end(lookup);
    lookup->row = row;
    return row ? look_up(lookup, s->sql) : OK;
}

void book_lookup_end(struct book_lookup *lookup)
{
    if (lookup->q)
        sql_reset(lookup->q);
    *lookup = (struct book_lookup){.row = 0};
}

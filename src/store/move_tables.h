/* Copies and compares all tables of two open stores, for move.c. */
#ifndef VT_STORE_MOVE_TABLES_H
#define VT_STORE_MOVE_TABLES_H

#include "store/move.h"

struct move {
    const struct move_options *options;
    struct store *from, *to;         /* sql_prepare_rare() was called for both */
    const char *from_name, *to_name; /* names for error messages */
    bool is_one_transaction;    /* the caller begins and ends the only transaction of `to`, in which it has
                                   deleted all rows of the tables */
    struct move_result *result; /* the rows are counted here */
    struct error *error;
};

/* Sets the error "`name`: database error" unless `m->error` is already set. Returns `err`. */
enum err move_fail(const struct move *m, const char *name, enum err err);

/* Begins a transaction of `to`, unless the whole move is one transaction. */
MUST_USE enum err move_begin(const struct move *m);
/* Ends the transaction of move_begin(): commits it if `err` is OK, otherwise rolls it back. Does nothing if
 * the whole move is one transaction. Returns `err`, or the error of the commit. */
enum err move_end(const struct move *m, enum err err);

/* Copies, from each table, the rows whose keys are greater than the last key of this table in `to`. Makes
 * sure that `to` will not assign the row ids of the rows of `from`, nor those of deleted authors, keys,
 * accounts and webhook endpoints. */
MUST_USE enum err move_copy_tables(struct move *m);

/* Compares all tables. Returns ERR_INVALID if they differ; the error names the first row that differs. */
MUST_USE enum err move_compare_tables(struct move *m);

#endif

/* Translates the statements of queries.h into the SQL of PostgreSQL. The translation is mechanical:
 *
 *     ?1                      $1
 *     INDEXED BY index        nothing, because PostgreSQL has no hints
 *     CROSS JOIN t ON …       JOIN t ON …
 *
 * pg_queries.h lists the other differences. */
#ifndef VT_STORE_PG_PG_TRANSLATE_H
#define VT_STORE_PG_PG_TRANSLATE_H

#include "base/buf.h"
#include "store/sql.h"

struct pg_translated {
    const char *text; /* NULL: PostgreSQL never uses the statement */
    int param_count;  /* the largest N of $N */
};

/* Returns the translation of a statement. It is valid until the process ends. The first call translates all
 * statements; any thread can make it. */
const struct pg_translated *pg_translate(enum query query);

/* Appends the translation of `sql` and sets the number of parameters. Returns false if `sql` has a form that
 * cannot be translated: a parameter without a number, a comment, a blob literal, INDEXED BY without a name,
 * or CROSS JOIN without ON. */
MUST_USE bool pg_translate_text(struct str sql, struct buf *out, int *param_count);

#endif

/* The parameters of a statement, in the binary format of PostgreSQL. Each function pg_params_add_…() appends
 * one parameter. The statement must cast it to the type in the comment beside the function: `bigint` means
 * $1::bigint. A failed append sets `bytes.failed`. Then pg_link_query() fails with ERR_NOMEM if out of
 * memory, or with ERR_FULL if there are more than PG_PARAM_BYTES_MAX bytes; pg_session_run() fails with
 * ERR_NOMEM in both cases. */
#ifndef VT_PG_PG_PARAMS_H
#define VT_PG_PG_PARAMS_H

#include "base/buf.h"

enum { PG_PARAMS_MAX = 32, PG_PARAM_BYTES_MAX = 4 << 20 };

struct pg_params {
    int count;
    struct {
        uint32_t offset;
        int32_t len; /* -1: NULL */
    } at[PG_PARAMS_MAX];
    struct buf bytes;
};

void pg_params_init(struct pg_params *p);
void pg_params_fini(struct pg_params *p);

void pg_params_add_null(struct pg_params *p);
void pg_params_add_bool(struct pg_params *p, bool v);        /* boolean */
void pg_params_add_i64(struct pg_params *p, int64_t v);      /* bigint */
void pg_params_add_bytes(struct pg_params *p, struct str s); /* bytea, uuid */
/* text, text[]. PostgreSQL rejects a statement with a text that contains NUL or is not UTF-8, and clients may
 * send such texts. So U+FFFD replaces each invalid byte. */
void pg_params_add_text(struct pg_params *p, struct str s);
void pg_params_add_texts(struct pg_params *p, const struct str *v, int count);
void pg_params_add_i64s(struct pg_params *p, const int64_t *v, int count);           /* bigint[] */
void pg_params_add_bytes_array(struct pg_params *p, const struct str *v, int count); /* bytea[] */

/* An array that is built element by element. */
enum pg_array_type { PG_ARRAY_I64, PG_ARRAY_BYTES };
struct pg_array {
    enum pg_array_type type;
    int count;
    bool has_null;
    struct buf elements;
};
void pg_array_init(struct pg_array *a, enum pg_array_type type);
void pg_array_fini(struct pg_array *a);
void pg_array_clear(struct pg_array *a); /* removes the elements */
void pg_array_add_null(struct pg_array *a);
void pg_array_add_i64(struct pg_array *a, int64_t v);
void pg_array_add_bytes(struct pg_array *a, struct str s);
void pg_params_add_array(struct pg_params *p, const struct pg_array *a); /* bigint[] or bytea[] */

/* Returns the address of a parameter, or NULL if the parameter is NULL. Valid until the next append. */
const char *pg_params_value(const struct pg_params *p, int i);

#endif

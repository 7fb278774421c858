/* Parses the URL and the password file of a store (store_options). */
#ifndef VT_STORE_PG_PG_WHERE_H
#define VT_STORE_PG_PG_WHERE_H

#include "pg/pg_options.h"

/* Like pg_options_parse(), with the password in the first line of a file. `password_file` may be NULL or
 * empty. */
MUST_USE enum err pg_where_parse(struct pg_options *where, const char *url, const char *password_file,
                                 struct error *error);

#endif

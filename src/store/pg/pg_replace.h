/* Functions of struct store_engine (store/engine.h) that move_replace() calls, for PostgreSQL. */
#ifndef VT_STORE_PG_PG_REPLACE_H
#define VT_STORE_PG_PG_REPLACE_H

#include "store/pg/pg_sql.h"

MUST_USE enum err pg_replace_check_replaceable(struct pg_sql *db, struct error *error);
MUST_USE enum err pg_replace_check_not_served(struct pg_sql *db, struct error *error);
MUST_USE enum err pg_replace_clear(struct pg_sql *db, struct error *error);

#endif

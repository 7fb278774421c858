/* Functions of struct store_engine (store/engine.h) that move_replace() calls, for PostgreSQL. */
#ifndef VT_STORE_PG_PG_REPLACE_H
#define VT_STORE_PG_PG_REPLACE_H

#include "store/pg/pg_sql.h"

/* Returns ERR_READONLY if the role does not own the tables, and ERR_BUSY if other viewtally processes use the
 * database. Does not wait. */
MUST_USE enum err pg_replace_check_replaceable(struct pg_sql *db, struct error *error);
/* Returns ERR_BUSY if a viewtally server has used the database since the open transaction began. */
MUST_USE enum err pg_replace_check_not_served(struct pg_sql *db, struct error *error);
/* Deletes all rows of the tables in moved_tables, in the open transaction. New rows get row ids from 1. */
MUST_USE enum err pg_replace_clear(struct pg_sql *db, struct error *error);

#endif

/* Reads the load of the server from its statistics views. */
#ifndef VT_STORE_PG_PG_SERVER_LOAD_H
#define VT_STORE_PG_PG_SERVER_LOAD_H

#include "store/pg/pg_sql.h"
#include "store/store.h"

/* See store_read_server_load(). */
MUST_USE enum err pg_server_load_read(struct pg_sql *db, struct store_server_load *out);

#endif

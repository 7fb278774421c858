/* A store whose engine is PostgreSQL. Only for the files of src/store/pg. */
#ifndef VT_STORE_PG_PG_STORE_H
#define VT_STORE_PG_PG_STORE_H

#include "store/engine.h"
#include "store/pg/pg_ahead.h"
#include "store/pg/pg_heads.h"
#include "store/pg/pg_reads.h"
#include "store/pg/pg_sql.h"

struct pg_store {
    struct store store; /* first, so that a pointer to it can be cast */
    struct pg_sql db;
    bool is_open; /* `db` is open */
    int busy_timeout_ms;
    struct pg_ahead ahead;  /* videos that the open transaction has read ahead */
    struct pg_reads reads;  /* open if the store serves an event loop */
    struct pg_heads *heads; /* NULL: the store does not serve an event loop */
};

/* Returns the connection of the store. */
static inline struct pg_sql *pg_sql_of_store(struct store *s)
{
    return &((struct pg_store *)s)->db;
}

#endif

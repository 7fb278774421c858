/* A store whose engine is SQLite. Only for the files of src/store/sqlite. */
#ifndef VT_STORE_SQLITE_SQLITE_STORE_H
#define VT_STORE_SQLITE_SQLITE_STORE_H

#include "store/handle.h"
#include "store/sqlite/db.h"

struct sqlite_store {
    struct store store; /* first, so that a pointer to it can be cast */
    struct db db;
};

/* Returns the connection of the store. */
static inline struct db *sqlite_db_of(struct store *s)
{
    return &((struct sqlite_store *)s)->db;
}

#endif

/* A store whose engine is SQLite. Only for the files of src/store/sqlite. */
#ifndef VT_STORE_SQLITE_SQLITE_STORE_H
#define VT_STORE_SQLITE_SQLITE_STORE_H

#include "base/file_lock.h"
#include "store/handle.h"
#include "store/sqlite/db.h"

struct sqlite_store {
    struct store store; /* first, so that a pointer to it can be cast */
    struct db db;
    char *path;
    struct file_lock import_lock; /* fd -1: not open */
};

/* Returns the connection of the store. */
static inline struct db *sqlite_db_of(struct store *s)
{
    return &((struct sqlite_store *)s)->db;
}

/* The functions of the engine (store/engine.h) that are not in sqlite_store.c. */
enum next sqlite_resolve_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                             struct key_owner *owner);
enum next sqlite_find_changes(struct store_read *read, struct list *waiting, struct list *changed);
enum err sqlite_share_import_lock(struct store *s);
enum err sqlite_try_import_lock(struct store *s, bool *acquired);
void sqlite_release_import_lock(struct store *s);

#endif

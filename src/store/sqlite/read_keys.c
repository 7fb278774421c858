/* Resolves API keys and finds changes by the store's version. */
#include "store/read.h"
#include "store/rows.h"
#include "store/sqlite/sqlite_store.h"
#include "store/write.h"

static enum err row_owner(struct sql *sql, struct sql_statement *q, struct key_owner *out)
{
    *out = (struct key_owner){
        .key_row = sql_i64(q, 0),
        .author_row = sql_i64(q, 1),
        .revoked_at = sql_i64_or(q, 3, TIME_NONE),
        .last_used_at = sql_i64_or(q, 4, TIME_NONE),
        .plan_active = sql_i64(q, 6) != 0,
        .author_rev = sql_i64(q, 7),
        .feed_rev = sql_i64(q, 8),
        .last_event_id = sql_i64(q, 9),
    };
    if (sql_bytes(q, 2, out->key_id.b, sizeof out->key_id.b) &&
        sql_bytes(q, 5, out->author_id.b, sizeof out->author_id.b))
        return OK;
    return sql_report_damage(sql, "key owner");
}

static enum err read_owner(struct sql *sql, const uint8_t hash[KEY_HASH_LEN], struct key_owner *out)
{
    struct sql_statement *q = sql_use(sql, QUERY_KEY_OWNER);
    sql_bind_blob(q, 1, hash, KEY_HASH_LEN);
    enum err err = sql_one(sql, q);
    if (err)
        return err;
    err = row_owner(sql, q, out);
    sql_reset(q);
    return err;
}

/* SQLite never loses a commit, so there is only one incarnation. */
enum { INCARNATION = 1 };

/* A previous result is valid until any process commits, which changes the version. */
enum next sqlite_resolve_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                             struct key_owner *owner)
{
    /* Get the version before the read, so that a commit during the read makes the result invalid. */
    const uint64_t version = db_get_version(sqlite_db_of(read->store));
    if (owner->version == version) {
        read->err = OK;
        return NEXT_MORE;
    }
    store_read_begin(read);
    const enum err err = read_owner(read->store->sql, hash, owner);
    owner->incarnation = INCARNATION;
    owner->version = err ? 0 : version;
    return store_read_end(read, err);
}

/* The version does not tell which author a commit has changed, so every commit wakes all. */
enum next sqlite_find_changes(struct store_read *read, struct list *waiting, struct list *changed)
{
    const uint64_t version = db_get_version(sqlite_db_of(read->store));
    for (struct list *link = waiting->next, *next; link != waiting; link = next) {
        next = link->next;
        if (LIST_ENTRY(link, struct author_watch, link)->version == version)
            continue;
        list_remove(link);
        list_add_last(changed, link);
    }
    read->err = OK;
    return NEXT_MORE;
}

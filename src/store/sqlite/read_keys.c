/* Resolves API keys, and finds changes by comparing store versions. */
#include "store/row_read.h"
#include "store/rows.h"
#include "store/sqlite/sqlite_store.h"

/* SQLite never loses a commit, so there is only one incarnation. */
enum { INCARNATION = 1 };

struct owner_read {
    struct key_owner *owner;
    uint64_t version;
};

static bool on_owner_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct owner_read *r = ctx;
    if (!row_to_key_owner(q, r->owner))
        *err = sql_report_damage(s->sql, "key owner");
    return false;
}

static enum err end_owner(struct store *s, void *ctx, enum err err)
{
    const struct owner_read *r = ctx;
    (void)s;
    r->owner->incarnation = INCARNATION;
    r->owner->version = err ? 0 : r->version;
    return err;
}

/* A previous result is valid until any process commits, which changes the version. */
enum next sqlite_resolve_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                             struct key_owner *owner)
{
    static const struct row_reader reader = {.row = on_owner_row, .end = end_owner, .needs_row = true};
    /* Get the version before the read, so that a commit during the read makes the result invalid. */
    struct owner_read r = {.owner = owner, .version = db_get_version(sqlite_db_of(read->store))};
    if (owner->version == r.version) {
        read->err = OK;
        return NEXT_MORE;
    }
    struct sql_statement *q = row_read_use(read, QUERY_KEY_OWNER);
    sql_bind_blob(q, 1, hash, KEY_HASH_LEN);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

/* The version does not show which author a commit has changed, so every commit moves all waiting requests. */
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

/* Reads API keys, accounts and authors. */
#include "store/handle.h"
#include "store/read.h"
#include "store/rows.h"
#include "store/write.h"

static enum err row_owner(struct db *db, struct sqlite3_stmt *q, struct key_owner *out)
{
    *out = (struct key_owner){
        .key_row = db_i64(q, 0),
        .author_row = db_i64(q, 1),
        .revoked_at = db_i64_or(q, 3, TIME_NONE),
        .last_used_at = db_i64_or(q, 4, TIME_NONE),
        .plan_active = db_i64(q, 6) != 0,
        .author_rev = db_i64(q, 7),
        .feed_rev = db_i64(q, 8),
        .last_event_id = db_i64(q, 9),
    };
    if (db_bytes(q, 2, out->key_id.b, sizeof out->key_id.b) &&
        db_bytes(q, 5, out->author_id.b, sizeof out->author_id.b))
        return OK;
    return db_damaged(db, "key owner");
}

enum next store_find_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN], struct key_owner *out)
{
    store_read_begin(read);
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_KEY_OWNER);
    db_bind_blob(q, 1, hash, KEY_HASH_LEN);
    enum err err = db_one(db, q);
    if (err)
        return store_read_end(read, err);
    err = row_owner(db, q, out);
    db_reset(q);
    return store_read_end(read, err);
}

enum next store_read_account(struct store_read *read, int64_t key_row, store_account_fn fn, void *ctx)
{
    store_read_begin(read);
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_ACCOUNT);
    struct author author;
    struct api_key key;
    db_bind_i64(q, 1, key_row);
    enum err err = db_one(db, q);
    if (err)
        return store_read_end(read, err);
    if (row_author(q, 0, &author) && row_api_key(q, AUTHOR_COLUMNS, &key))
        (void)fn(ctx, &author, &key);
    else
        err = db_damaged(db, "account");
    db_reset(q);
    return store_read_end(read, err);
}

enum next store_read_author(struct store_read *read, struct arena *arena, int64_t author_row,
                            struct author *out)
{
    read->err = store_get_author(read->store, arena, author_row, out);
    return NEXT_MORE;
}

enum err store_author_head(struct store *s, int64_t author_row, struct author_head *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_AUTHOR_HEAD);
    db_bind_i64(q, 1, author_row);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    *out = (struct author_head){.rev = db_i64(q, 0), .last_event_id = db_i64(q, 1)};
    db_reset(q);
    return OK;
}

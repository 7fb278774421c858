/* Reads an author's keys with their apps, and checks the limits on their number. */
#include "store/author_keys.h"

#include "base/clock.h"
#include "store/handle.h"
#include "store/rows.h"

static bool row_author_key(struct sqlite3_stmt *q, struct author_key *out)
{
    *out =
        (struct author_key){.app_name = db_text(q, KEY_COLUMNS), .app_home_url = db_text(q, KEY_COLUMNS + 1)};
    bool sound = row_api_key(q, 0, &out->key);
    out->is_app = out->key.app_row != 0;
    return sound;
}

enum next store_list_author_keys(struct store_read *read, int64_t author_row, enum key_state state, int limit,
                                 store_author_key_fn fn, void *ctx)
{
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, state == KEYS_LIVE ? QUERY_KEYS_LIVE : QUERY_KEYS_REVOKED);
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, limit);
    while (db_row(db, q, &read->err)) {
        struct author_key key;
        bool sound = row_author_key(q, &key);
        if (sound && fn(ctx, &key))
            continue;
        read->err = sound ? OK : db_damaged(db, "key");
        db_reset(q);
        break;
    }
    return NEXT_MORE;
}

enum err store_get_author_key(struct store *s, int64_t author_row, const struct uuid *id,
                              store_author_key_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_KEY_OF_AUTHOR);
    struct author_key key;
    db_bind_uuid(q, 1, id);
    db_bind_i64(q, 2, author_row);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    if (row_author_key(q, &key))
        (void)fn(ctx, &key);
    else
        err = db_damaged(&s->db, "key");
    db_reset(q);
    return err;
}

enum next store_read_author_key(struct store_read *read, int64_t author_row, const struct uuid *id,
                                store_author_key_fn fn, void *ctx)
{
    read->err = store_get_author_key(read->store, author_row, id, fn, ctx);
    return NEXT_MORE;
}

enum err store_check_key_limits(struct store *s, int64_t author_row, int64_t replaced_app_row, int64_t now,
                                enum key_limit *reached)
{
    const int32_t today = date_of(now);
    int64_t live, created;
    *reached = KEY_LIMIT_NONE;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_KEYS_COUNT);
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, replaced_app_row);
    enum err err = db_one_i64(&s->db, q, &live);
    if (err)
        return err;
    /* Revoked keys are never deleted, so this query counts every key created today. */
    q = db_use(&s->db, QUERY_KEYS_COUNT_CREATED);
    db_bind_i64(q, 1, author_row);
    db_bind_i64(q, 2, date_start_ms(today));
    db_bind_i64(q, 3, date_start_ms(today + 1));
    err = db_one_i64(&s->db, q, &created);
    if (err)
        return err;
    if (live >= AUTHOR_KEYS_MAX)
        *reached = KEY_LIMIT_LIVE;
    else if (created >= AUTHOR_KEYS_PER_DAY)
        *reached = KEY_LIMIT_DAY;
    return OK;
}

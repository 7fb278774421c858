/* The tables platform_credentials and platform_links. */
#include "store/platform_credentials.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"
#include "store/write.h"

/* ---- reading ---- */

static bool row_credential(struct sqlite3_stmt *q, struct credential *out)
{
    *out = (struct credential){
        .row = db_i64(q, 0),
        .author_row = db_i64(q, 1),
        .api = (int)db_i64(q, 2),
        .account_id = db_text(q, 3),
        .account_name = db_text(q, 4),
        .scopes = db_text(q, 5),
        .access_sealed = db_text(q, 6),
        .refresh_sealed = db_text(q, 7),
        .access_expires_at = db_i64_or(q, 8, TIME_NONE),
        .refresh_expires_at = db_i64_or(q, 9, TIME_NONE),
        .obtained_at = db_i64(q, 10),
        .state = (enum credential_state)db_i64(q, 11),
        .version = db_i64(q, 12),
        .refresh_sent_at = db_i64_or(q, 13, TIME_NONE),
        .failures = db_i64(q, 14),
        .last_error = db_text(q, 15),
        .last_error_at = db_i64_or(q, 16, TIME_NONE),
        .last_ok_at = db_i64_or(q, 17, TIME_NONE),
        .tier = (int)db_i64(q, 18),
        .dropped = db_text(q, 19),
        .tier_until = db_i64_or(q, 20, TIME_NONE),
        .is_personal = db_i64(q, 21) != 0,
    };
    return (int)out->state >= 0 && (int)out->state < CREDENTIAL_STATES && out->access_sealed.p;
}

static enum err read_credential(struct db *db, struct sqlite3_stmt *q, struct arena *a,
                                struct credential *out)
{
    enum err err = db_one(db, q);
    if (err)
        return err;
    if (!row_credential(q, out))
        err = db_damaged(db, "credential");
    out->account_id = row_copy(a, out->account_id);
    out->account_name = row_copy(a, out->account_name);
    out->scopes = row_copy(a, out->scopes);
    out->access_sealed = row_copy(a, out->access_sealed);
    out->refresh_sealed = row_copy(a, out->refresh_sealed);
    out->last_error = row_copy(a, out->last_error);
    out->dropped = row_copy(a, out->dropped);
    db_reset(q);
    return err;
}

enum err store_get_credential(struct store *s, struct arena *a, int64_t row, struct credential *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL);
    db_bind_i64(q, 1, row);
    return read_credential(&s->db, q, a, out);
}

enum err store_find_credential(struct store *s, struct arena *a, int api, struct str account_id,
                               struct credential *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_OF);
    db_bind_i64(q, 1, api);
    db_bind_text(q, 2, account_id);
    return read_credential(&s->db, q, a, out);
}

static enum err list_credentials(struct db *db, struct sqlite3_stmt *q, store_credential_fn fn, void *ctx)
{
    enum err err;
    while (db_row(db, q, &err)) {
        struct credential c;
        bool sound = row_credential(q, &c);
        if (sound && fn(ctx, &c))
            continue;
        err = sound ? OK : db_damaged(db, "credential");
        db_reset(q);
        break;
    }
    return err;
}

enum err store_list_author_credentials(struct store *s, int64_t author_row, store_credential_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIALS_OF_AUTHOR);
    db_bind_i64(q, 1, author_row);
    return list_credentials(&s->db, q, fn, ctx);
}

enum next store_read_author_credentials(struct store_read *read, int64_t author_row, store_credential_fn fn,
                                        void *ctx)
{
    store_read_begin(read);
    return store_read_end(read, store_list_author_credentials(read->store, author_row, fn, ctx));
}

enum err store_list_credentials(struct store *s, int64_t after, int limit, store_credential_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIALS);
    db_bind_i64(q, 1, after);
    db_bind_i64(q, 2, limit);
    return list_credentials(&s->db, q, fn, ctx);
}

enum err store_count_credentials(struct store *s, int api, enum credential_state state, int64_t *count)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIALS_COUNT);
    db_bind_i64(q, 1, api);
    db_bind_i64(q, 2, state);
    return db_one_i64(&s->db, q, count);
}

enum err store_list_credential_errors(struct store *s, int api, int limit, store_credential_error_fn fn,
                                      void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_ERRORS);
    enum err err;
    db_bind_i64(q, 1, api);
    db_bind_i64(q, 2, limit);
    while (db_row(&s->db, q, &err)) {
        if (fn(ctx, db_text(q, 0), db_i64(q, 1)))
            continue;
        db_reset(q);
        break;
    }
    return err;
}

/* ---- tokens ---- */

enum err store_put_credential(struct store *s, struct credential *c)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_PUT);
    CHECK(db_in_transaction(&s->db));
    db_bind_i64(q, 1, c->author_row);
    db_bind_i64(q, 2, c->api);
    db_bind_text(q, 3, c->account_id);
    db_bind_text(q, 4, c->account_name);
    db_bind_text(q, 5, c->scopes);
    db_bind_bytes(q, 6, c->access_sealed);
    db_bind_bytes(q, 7, c->refresh_sealed);
    db_bind_i64_or_null(q, 8, c->access_expires_at, TIME_NONE);
    db_bind_i64_or_null(q, 9, c->refresh_expires_at, TIME_NONE);
    db_bind_i64(q, 10, c->obtained_at);
    db_bind_i64(q, 11, c->is_personal);
    enum err err = db_one(&s->db, q);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_EXISTS : err;
    c->row = db_i64(q, 0);
    c->version = db_i64(q, 1);
    c->state = CREDENTIAL_CONNECTED;
    db_reset(q);
    return OK;
}

enum err store_swap_tokens(struct store *s, struct credential *c, bool *swapped)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_SWAP);
    db_bind_i64(q, 1, c->row);
    db_bind_i64(q, 2, c->version);
    db_bind_bytes(q, 3, c->access_sealed);
    db_bind_bytes(q, 4, c->refresh_sealed);
    db_bind_i64_or_null(q, 5, c->access_expires_at, TIME_NONE);
    db_bind_i64_or_null(q, 6, c->refresh_expires_at, TIME_NONE);
    db_bind_text(q, 7, c->scopes);
    db_bind_i64(q, 8, c->obtained_at);
    enum err err = db_write_if(&s->db, q, swapped);
    if (*swapped)
        c->version++;
    return err;
}

enum err store_reseal_credential(struct store *s, int64_t row, struct str access_sealed,
                                 struct str refresh_sealed)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_RESEAL);
    db_bind_i64(q, 1, row);
    db_bind_bytes(q, 2, access_sealed);
    db_bind_bytes(q, 3, refresh_sealed);
    return db_update(&s->db, q);
}

enum err store_begin_token_refresh(struct store *s, int64_t row, int64_t version, int64_t now,
                                   int64_t not_since, bool *acquired)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_REFRESH_BEGIN);
    db_bind_i64(q, 1, row);
    db_bind_i64(q, 2, version);
    db_bind_i64(q, 3, now);
    db_bind_i64(q, 4, not_since);
    return db_write_if(&s->db, q, acquired);
}

enum err store_end_token_refresh(struct store *s, int64_t row, int64_t version)
{
    bool done;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_REFRESH_END);
    db_bind_i64(q, 1, row);
    db_bind_i64(q, 2, version);
    return db_write_if(&s->db, q, &done);
}

/* ---- outcomes ---- */

enum err store_credential_ok(struct store *s, int64_t row, int64_t at)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_OK);
    db_bind_i64(q, 1, row);
    db_bind_i64(q, 2, at);
    return db_update(&s->db, q);
}

enum err store_credential_failed(struct store *s, int64_t row, int64_t version, struct str error, int64_t at,
                                 enum credential_state state)
{
    bool done;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_FAILED);
    db_bind_i64(q, 1, row);
    db_bind_i64(q, 2, version);
    db_bind_text(q, 3, error);
    db_bind_i64(q, 4, at);
    db_bind_i64(q, 5, state);
    return db_write_if(&s->db, q, &done);
}

enum err store_set_credential_tier(struct store *s, int64_t row, int tier, struct str dropped, int64_t until)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CREDENTIAL_TIER);
    db_bind_i64(q, 1, row);
    db_bind_i64(q, 2, tier);
    db_bind_text(q, 3, dropped.p ? dropped : STR(""));
    db_bind_i64_or_null(q, 4, until, TIME_NONE);
    return db_update(&s->db, q);
}

enum err store_delete_credential(struct store *s, int64_t row, int64_t author_row)
{
    struct sqlite3_stmt *q =
        db_use(&s->db, author_row ? QUERY_CREDENTIAL_DELETE_OF : QUERY_CREDENTIAL_DELETE);
    db_bind_i64(q, 1, row);
    if (author_row)
        db_bind_i64(q, 2, author_row);
    return db_update(&s->db, q);
}

/* ---- account connections in progress ---- */

enum err store_insert_link(struct store *s, const struct link_record *link)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LINK_INSERT);
    db_bind_blob(q, 1, link->state_hash, LINK_HASH_LEN);
    db_bind_blob(q, 2, link->session_hash, LINK_HASH_LEN);
    db_bind_i64(q, 3, link->author_row);
    db_bind_i64(q, 4, link->api);
    db_bind_bytes(q, 5, link->verifier);
    db_bind_i64(q, 6, link->created_at);
    return db_write(&s->db, q);
}

static enum err find_link(struct store *s, struct arena *a, const uint8_t hash[LINK_HASH_LEN],
                          struct link_record *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LINK_FIND);
    db_bind_blob(q, 1, hash, LINK_HASH_LEN);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    if (!db_bytes(q, 0, out->session_hash, LINK_HASH_LEN))
        err = db_damaged(&s->db, "link");
    memcpy(out->state_hash, hash, LINK_HASH_LEN);
    out->author_row = db_i64(q, 1);
    out->api = (int)db_i64(q, 2);
    out->verifier = row_copy(a, db_text(q, 3));
    out->created_at = db_i64(q, 4);
    db_reset(q);
    return err;
}

enum err store_take_link(struct store *s, struct arena *a, const uint8_t state_hash[LINK_HASH_LEN],
                         struct link_record *out)
{
    enum err err = find_link(s, a, state_hash, out);
    if (err)
        return err;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LINK_DELETE);
    db_bind_blob(q, 1, state_hash, LINK_HASH_LEN);
    return db_update(&s->db, q);
}

enum err store_purge_links(struct store *s, int64_t before)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LINKS_PURGE);
    db_bind_i64(q, 1, before);
    return db_write(&s->db, q);
}

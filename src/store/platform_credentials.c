/* Implements platform_credentials.h with the tables platform_credentials and platform_links. */
#include "store/platform_credentials.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"
#include "store/write.h"

/* ---- reading credentials ---- */

static bool row_credential(struct sql_statement *q, struct credential *out)
{
    *out = (struct credential){
        .row = sql_i64(q, 0),
        .author_row = sql_i64(q, 1),
        .api = (int)sql_i64(q, 2),
        .account_id = sql_text(q, 3),
        .account_name = sql_text(q, 4),
        .scopes = sql_text(q, 5),
        .access_sealed = sql_text(q, 6),
        .refresh_sealed = sql_text(q, 7),
        .access_expires_at = sql_i64_or(q, 8, TIME_NONE),
        .refresh_expires_at = sql_i64_or(q, 9, TIME_NONE),
        .obtained_at = sql_i64(q, 10),
        .state = (enum credential_state)sql_i64(q, 11),
        .version = sql_i64(q, 12),
        .refresh_sent_at = sql_i64_or(q, 13, TIME_NONE),
        .failures = sql_i64(q, 14),
        .last_error = sql_text(q, 15),
        .last_error_at = sql_i64_or(q, 16, TIME_NONE),
        .last_ok_at = sql_i64_or(q, 17, TIME_NONE),
        .tier = (int)sql_i64(q, 18),
        .dropped = sql_text(q, 19),
        .tier_until = sql_i64_or(q, 20, TIME_NONE),
        .is_personal = sql_i64(q, 21) != 0,
    };
    return (int)out->state >= 0 && (int)out->state < CREDENTIAL_STATES && out->access_sealed.p;
}

static enum err read_credential(struct sql *sql, struct sql_statement *q, struct arena *a,
                                struct credential *out)
{
    enum err err = sql_one(sql, q);
    if (err)
        return err;
    if (!row_credential(q, out))
        err = sql_report_damage(sql, "credential");
    out->account_id = row_copy_text(a, out->account_id);
    out->account_name = row_copy_text(a, out->account_name);
    out->scopes = row_copy_text(a, out->scopes);
    out->access_sealed = row_copy_text(a, out->access_sealed);
    out->refresh_sealed = row_copy_text(a, out->refresh_sealed);
    out->last_error = row_copy_text(a, out->last_error);
    out->dropped = row_copy_text(a, out->dropped);
    sql_reset(q);
    return err;
}

enum err store_get_credential(struct store *s, struct arena *a, int64_t row, struct credential *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL);
    sql_bind_i64(q, 1, row);
    return read_credential(s->sql, q, a, out);
}

struct credentials_read {
    store_credential_fn fn;
    void *ctx;
};

static bool on_credential_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct credentials_read *r = ctx;
    struct credential c;
    if (row_credential(q, &c))
        return r->fn(r->ctx, &c);
    *err = sql_report_damage(s->sql, "credential");
    return false;
}

static const struct row_reader list_reader = {.row = on_credential_row};

enum err store_list_author_credentials(struct store *s, int64_t author_row, store_credential_fn fn, void *ctx)
{
    struct credentials_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIALS_OF_AUTHOR);
    sql_bind_i64(q, 1, author_row);
    return row_read_pass(s, s->sql, q, &list_reader, &r);
}

enum next store_read_author_credentials(struct store_read *read, int64_t author_row, store_credential_fn fn,
                                        void *ctx)
{
    struct credentials_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = row_read_use(read, QUERY_CREDENTIALS_OF_AUTHOR);
    sql_bind_i64(q, 1, author_row);
    return row_read_run(read, q, &list_reader, &r, sizeof r);
}

enum err store_list_credentials(struct store *s, int64_t after, int limit, store_credential_fn fn, void *ctx)
{
    struct credentials_read r = {.fn = fn, .ctx = ctx};
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIALS);
    sql_bind_i64(q, 1, after);
    sql_bind_i64(q, 2, limit);
    return row_read_pass(s, s->sql, q, &list_reader, &r);
}

enum err store_count_credentials(struct store *s, int api, enum credential_state state, int64_t *count)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIALS_COUNT);
    sql_bind_i64(q, 1, api);
    sql_bind_i64(q, 2, state);
    return sql_one_i64(s->sql, q, count);
}

enum err store_list_credential_errors(struct store *s, int api, int limit, store_credential_error_fn fn,
                                      void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_ERRORS);
    enum err err;
    sql_bind_i64(q, 1, api);
    sql_bind_i64(q, 2, limit);
    while (sql_row(s->sql, q, &err)) {
        if (fn(ctx, sql_text(q, 0), sql_i64(q, 1)))
            continue;
        sql_reset(q);
        break;
    }
    return err;
}

/* ---- tokens of credentials ---- */

enum err store_put_credential(struct store *s, struct credential *c)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_PUT);
    CHECK(sql_in_transaction(s->sql));
    sql_bind_i64(q, 1, c->author_row);
    sql_bind_i64(q, 2, c->api);
    sql_bind_text(q, 3, c->account_id);
    sql_bind_text(q, 4, c->account_name);
    sql_bind_text(q, 5, c->scopes);
    sql_bind_bytes(q, 6, c->access_sealed);
    sql_bind_bytes(q, 7, c->refresh_sealed);
    sql_bind_i64_or_null(q, 8, c->access_expires_at, TIME_NONE);
    sql_bind_i64_or_null(q, 9, c->refresh_expires_at, TIME_NONE);
    sql_bind_i64(q, 10, c->obtained_at);
    sql_bind_i64(q, 11, c->is_personal);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_EXISTS : err;
    c->row = sql_i64(q, 0);
    c->version = sql_i64(q, 1);
    c->state = CREDENTIAL_CONNECTED;
    sql_reset(q);
    return OK;
}

enum err store_swap_tokens(struct store *s, struct credential *c, bool *swapped)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_SWAP);
    sql_bind_i64(q, 1, c->row);
    sql_bind_i64(q, 2, c->version);
    sql_bind_bytes(q, 3, c->access_sealed);
    sql_bind_bytes(q, 4, c->refresh_sealed);
    sql_bind_i64_or_null(q, 5, c->access_expires_at, TIME_NONE);
    sql_bind_i64_or_null(q, 6, c->refresh_expires_at, TIME_NONE);
    sql_bind_text(q, 7, c->scopes);
    sql_bind_i64(q, 8, c->obtained_at);
    enum err err = sql_write_if(s->sql, q, swapped);
    if (*swapped)
        c->version++;
    return err;
}

enum err store_reseal_credential(struct store *s, int64_t row, struct str access_sealed,
                                 struct str refresh_sealed)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_RESEAL);
    sql_bind_i64(q, 1, row);
    sql_bind_bytes(q, 2, access_sealed);
    sql_bind_bytes(q, 3, refresh_sealed);
    return sql_update(s->sql, q);
}

enum err store_count_key_rotation(struct store *s)
{
    return sql_write(s->sql, sql_use(s->sql, QUERY_KEY_ROTATION_COUNT));
}

enum err store_begin_token_refresh(struct store *s, int64_t row, int64_t version, int64_t now,
                                   int64_t not_since, bool *acquired)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_REFRESH_BEGIN);
    sql_bind_i64(q, 1, row);
    sql_bind_i64(q, 2, version);
    sql_bind_i64(q, 3, now);
    sql_bind_i64(q, 4, not_since);
    return sql_write_if(s->sql, q, acquired);
}

enum err store_end_token_refresh(struct store *s, int64_t row, int64_t version)
{
    bool done;
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_REFRESH_END);
    sql_bind_i64(q, 1, row);
    sql_bind_i64(q, 2, version);
    return sql_write_if(s->sql, q, &done);
}

/* ---- recording outcomes of calls ---- */

enum err store_record_credential_success(struct store *s, int64_t row, int64_t at)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_OK);
    sql_bind_i64(q, 1, row);
    sql_bind_i64(q, 2, at);
    return sql_update(s->sql, q);
}

enum err store_record_credential_failure(struct store *s, int64_t row, int64_t version, struct str error,
                                         int64_t at, enum credential_state state)
{
    bool done;
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_FAILED);
    sql_bind_i64(q, 1, row);
    sql_bind_i64(q, 2, version);
    sql_bind_text(q, 3, error);
    sql_bind_i64(q, 4, at);
    sql_bind_i64(q, 5, state);
    return sql_write_if(s->sql, q, &done);
}

enum err store_set_credential_tier(struct store *s, int64_t row, int tier, struct str dropped, int64_t until)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CREDENTIAL_TIER);
    sql_bind_i64(q, 1, row);
    sql_bind_i64(q, 2, tier);
    sql_bind_text(q, 3, dropped.p ? dropped : STR(""));
    sql_bind_i64_or_null(q, 4, until, TIME_NONE);
    return sql_update(s->sql, q);
}

enum err store_delete_credential(struct store *s, int64_t row, int64_t author_row)
{
    struct sql_statement *q =
        sql_use(s->sql, author_row ? QUERY_CREDENTIAL_DELETE_OF : QUERY_CREDENTIAL_DELETE);
    sql_bind_i64(q, 1, row);
    if (author_row)
        sql_bind_i64(q, 2, author_row);
    return sql_update(s->sql, q);
}

/* ---- account connections in progress ---- */

enum err store_insert_link(struct store *s, const struct link_record *link)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LINK_INSERT);
    sql_bind_blob(q, 1, link->state_hash, LINK_HASH_LEN);
    sql_bind_blob(q, 2, link->session_hash, LINK_HASH_LEN);
    sql_bind_i64(q, 3, link->author_row);
    sql_bind_i64(q, 4, link->api);
    sql_bind_bytes(q, 5, link->verifier);
    sql_bind_i64(q, 6, link->created_at);
    return sql_write(s->sql, q);
}

static enum err find_link(struct store *s, struct arena *a, const uint8_t hash[LINK_HASH_LEN],
                          struct link_record *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LINK_FIND);
    sql_bind_blob(q, 1, hash, LINK_HASH_LEN);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    if (!sql_bytes(q, 0, out->session_hash, LINK_HASH_LEN))
        err = sql_report_damage(s->sql, "link");
    memcpy(out->state_hash, hash, LINK_HASH_LEN);
    out->author_row = sql_i64(q, 1);
    out->api = (int)sql_i64(q, 2);
    out->verifier = row_copy_text(a, sql_text(q, 3));
    out->created_at = sql_i64(q, 4);
    sql_reset(q);
    return err;
}

enum err store_consume_link(struct store *s, struct arena *a, const uint8_t state_hash[LINK_HASH_LEN],
                            struct link_record *out)
{
    enum err err = find_link(s, a, state_hash, out);
    if (err)
        return err;
    struct sql_statement *q = sql_use(s->sql, QUERY_LINK_DELETE);
    sql_bind_blob(q, 1, state_hash, LINK_HASH_LEN);
    return sql_update(s->sql, q);
}

enum err store_purge_links(struct store *s, int64_t before)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LINKS_PURGE);
    sql_bind_i64(q, 1, before);
    return sql_write(s->sql, q);
}

/* Implements apps.h with the tables apps, app_redirects and oauth_codes, and with the keys of apps. */
#include "store/apps.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"
#include "store/write.h"

enum { REDIRECTS_READ_MAX = 64 }; /* more than can be registered */

/* --- apps --- */

static bool row_app(struct sqlite3_stmt *q, struct app_record *out)
{
    *out = (struct app_record){
        .row = db_i64(q, 0),
        .client_id = db_text(q, 1),
        .name = db_text(q, 2),
        .home_url = db_text(q, 3),
        .confidential = db_text(q, 4).p,
        .created_at = db_i64(q, 5),
        .removed_at = db_i64_or(q, 6, TIME_NONE),
    };
    return !out->confidential || db_bytes(q, 4, out->secret_hash, sizeof out->secret_hash);
}

enum err store_find_app(struct store *s, struct arena *a, struct str client_id, struct app_record *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_APP_BY_CLIENT_ID);
    db_bind_text(q, 1, client_id);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    if (!row_app(q, out))
        err = db_damaged(&s->db, "app");
    out->client_id = row_copy(a, out->client_id);
    out->name = row_copy(a, out->name);
    out->home_url = row_copy(a, out->home_url);
    db_reset(q);
    return err;
}

struct redirect_list {
    struct arena *arena;
    struct app_lookup *out;
};

static bool add_redirect(void *ctx, struct str uri)
{
    struct redirect_list *list = ctx;
    list->out->redirects[list->out->redirect_count++] = arena_copy(list->arena, uri);
    return list->out->redirect_count < REDIRECTS_READ_MAX;
}

enum next store_read_app(struct store_read *read, struct arena *a, struct str client_id,
                         struct app_lookup *out)
{
    struct redirect_list list = {.arena = a, .out = out};
    out->redirect_count = 0;
    out->redirects = arena_alloc(a, REDIRECTS_READ_MAX * sizeof *out->redirects);
    read->err = store_find_app(read->store, a, client_id, &out->app);
    if (read->err == OK)
        read->err = store_list_redirects(read->store, out->app.row, add_redirect, &list);
    return NEXT_MORE;
}

enum err store_list_apps(struct store *s, store_app_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_APPS);
    enum err err;
    while (db_row(&s->db, q, &err)) {
        struct app_record app;
        bool sound = row_app(q, &app);
        if (sound && fn(ctx, &app))
            continue;
        err = sound ? OK : db_damaged(&s->db, "app");
        db_reset(q);
        break;
    }
    return err;
}

enum err store_list_redirects(struct store *s, int64_t app_row, store_redirect_fn fn, void *ctx)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_APP_REDIRECTS);
    enum err err;
    db_bind_i64(q, 1, app_row);
    while (db_row(&s->db, q, &err)) {
        if (fn(ctx, db_text(q, 0)))
            continue;
        db_reset(q);
        return OK;
    }
    return err;
}

enum err store_insert_app(struct store *s, struct app_record *app)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_APP_INSERT);
    db_bind_text(q, 1, app->client_id);
    db_bind_text(q, 2, app->name);
    db_bind_text(q, 3, app->home_url);
    if (app->confidential)
        db_bind_blob(q, 4, app->secret_hash, sizeof app->secret_hash);
    else
        db_bind_null(q, 4);
    db_bind_i64(q, 5, app->created_at);
    return db_insert(&s->db, q, &app->row);
}

enum err store_insert_redirect(struct store *s, int64_t app_row, struct str uri)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_APP_REDIRECT_INSERT);
    db_bind_i64(q, 1, app_row);
    db_bind_text(q, 2, uri);
    return db_write(&s->db, q);
}

enum err store_set_app_secret(struct store *s, int64_t app_row, const uint8_t hash[SECRET_HASH_LEN])
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_APP_SET_SECRET);
    db_bind_i64(q, 1, app_row);
    db_bind_blob(q, 2, hash, SECRET_HASH_LEN);
    return db_update(&s->db, q);
}

enum err store_remove_app(struct store *s, int64_t app_row, int64_t now)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_APP_REMOVE);
    db_bind_i64(q, 1, app_row);
    db_bind_i64(q, 2, now);
    return db_update(&s->db, q);
}

/* --- their keys --- */

enum err store_count_app_keys(struct store *s, int64_t app_row, int64_t *count)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_APP_KEYS_LIVE);
    db_bind_i64(q, 1, app_row);
    return db_one_i64(&s->db, q, count);
}

enum err store_revoke_app_keys(struct store *s, int64_t app_row, int64_t author_row, int64_t now, int *count)
{
    struct sqlite3_stmt *q =
        db_use(&s->db, author_row ? QUERY_APP_KEYS_OF_AUTHOR_REVOKE : QUERY_APP_KEYS_REVOKE);
    db_bind_i64(q, 1, app_row);
    if (author_row)
        db_bind_i64(q, 2, author_row);
    db_bind_i64(q, author_row ? 3 : 2, now);
    return db_write_count(&s->db, q, count);
}

/* --- codes --- */

enum err store_insert_code(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                           const struct code_record *code)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CODE_INSERT);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    db_bind_i64(q, 2, code->app_row);
    db_bind_i64(q, 3, code->author_row);
    db_bind_text(q, 4, code->redirect_uri);
    db_bind_text(q, 5, code->challenge);
    db_bind_i64(q, 6, code->created_at);
    return db_write(&s->db, q);
}

enum err store_find_code(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                         struct code_record *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CODE_BY_HASH);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    *out = (struct code_record){
        .app_row = db_i64(q, 0),
        .author_row = db_i64(q, 1),
        .redirect_uri = row_copy(a, db_text(q, 2)),
        .challenge = row_copy(a, db_text(q, 3)),
        .created_at = db_i64(q, 4),
        .used_at = db_i64_or(q, 5, TIME_NONE),
        .key_row = db_i64_or(q, 6, 0),
    };
    db_reset(q);
    return OK;
}

enum err store_use_code(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now, int64_t key_row)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_CODE_USE);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    db_bind_i64(q, 2, now);
    db_bind_i64_or_null(q, 3, key_row, 0);
    return db_update(&s->db, q);
}

static enum err purge(struct store *s, enum query query, int64_t before)
{
    struct sqlite3_stmt *q = db_use(&s->db, query);
    db_bind_i64(q, 1, before);
    return db_write(&s->db, q);
}

enum err store_purge_codes(struct store *s, int64_t unused_before, int64_t used_before)
{
    enum err err = purge(s, QUERY_CODES_PURGE_IDLE, unused_before);
    return err ? err : purge(s, QUERY_CODES_PURGE_SPENT, used_before);
}

/* Implements apps.h with the tables apps, app_redirects and oauth_codes, and with the keys of apps. */
#include "store/apps.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"
#include "store/write.h"

enum {
    APP_COLUMNS = 8,
    REDIRECTS_READ_MAX = 64, /* more than can be registered */
};

/* --- apps --- */

static bool row_app(struct sql_statement *q, struct app_record *out)
{
    *out = (struct app_record){
        .row = sql_i64(q, 0),
        .client_id = sql_text(q, 1),
        .name = sql_text(q, 2),
        .home_url = sql_text(q, 3),
        .confidential = sql_text(q, 4).p,
        .created_at = sql_i64(q, 5),
        .removed_at = sql_i64_or(q, 6, TIME_NONE),
        .webhook_url = sql_text(q, 7),
    };
    return !out->confidential || sql_bytes(q, 4, out->secret_hash, sizeof out->secret_hash);
}

static void copy_app_texts(struct arena *a, struct app_record *app)
{
    app->client_id = row_copy_text(a, app->client_id);
    app->name = row_copy_text(a, app->name);
    app->home_url = row_copy_text(a, app->home_url);
    app->webhook_url = row_copy_text(a, app->webhook_url);
}

enum err store_find_app(struct store *s, struct arena *a, struct str client_id, struct app_record *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_BY_CLIENT_ID);
    sql_bind_text(q, 1, client_id);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    if (!row_app(q, out))
        err = sql_report_damage(s->sql, "app");
    copy_app_texts(a, out);
    sql_reset(q);
    return err;
}

struct app_read {
    struct arena *arena;
    struct app_lookup *out;
    bool has_app;
};

/* Each row contains the app and one of its redirect URIs. An app without redirect URIs has one row, in which
 * the URI is NULL. */
static bool on_app_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    struct app_read *r = ctx;
    if (!r->has_app) {
        if (!row_app(q, &r->out->app)) {
            *err = sql_report_damage(s->sql, "app");
            return false;
        }
        copy_app_texts(r->arena, &r->out->app);
        r->has_app = true;
    }
    const struct str uri = sql_text(q, APP_COLUMNS);
    if (uri.p)
        r->out->redirects[r->out->redirect_count++] = arena_copy(r->arena, uri);
    return r->out->redirect_count < REDIRECTS_READ_MAX;
}

enum next store_read_app(struct store_read *read, struct arena *a, struct str client_id,
                         struct app_lookup *out)
{
    static const struct row_reader reader = {.row = on_app_row, .needs_row = true};
    struct app_read r = {.arena = a, .out = out};
    struct sql_statement *q = row_read_use(read, QUERY_APP_WITH_REDIRECTS);
    sql_bind_text(q, 1, client_id);
    out->redirect_count = 0;
    out->redirects = arena_alloc(a, REDIRECTS_READ_MAX * sizeof *out->redirects);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

enum err store_list_apps(struct store *s, store_app_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APPS);
    enum err err;
    while (sql_row(s->sql, q, &err)) {
        struct app_record app;
        bool sound = row_app(q, &app);
        if (sound && fn(ctx, &app))
            continue;
        err = sound ? OK : sql_report_damage(s->sql, "app");
        sql_reset(q);
        break;
    }
    return err;
}

enum err store_list_redirects(struct store *s, int64_t app_row, store_redirect_fn fn, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_REDIRECTS);
    enum err err;
    sql_bind_i64(q, 1, app_row);
    while (sql_row(s->sql, q, &err)) {
        if (fn(ctx, sql_text(q, 0)))
            continue;
        sql_reset(q);
        return OK;
    }
    return err;
}

enum err store_insert_app(struct store *s, struct app_record *app)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_INSERT);
    sql_bind_text(q, 1, app->client_id);
    sql_bind_text(q, 2, app->name);
    sql_bind_text(q, 3, app->home_url);
    if (app->confidential)
        sql_bind_blob(q, 4, app->secret_hash, sizeof app->secret_hash);
    else
        sql_bind_null(q, 4);
    sql_bind_i64(q, 5, app->created_at);
    return sql_insert(s->sql, q, &app->row);
}

enum err store_insert_redirect(struct store *s, int64_t app_row, struct str uri)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_REDIRECT_INSERT);
    sql_bind_i64(q, 1, app_row);
    sql_bind_text(q, 2, uri);
    return sql_write(s->sql, q);
}

enum err store_set_app_secret(struct store *s, int64_t app_row, const uint8_t hash[SECRET_HASH_LEN])
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_SET_SECRET);
    sql_bind_i64(q, 1, app_row);
    sql_bind_blob(q, 2, hash, SECRET_HASH_LEN);
    return sql_update(s->sql, q);
}

enum err store_remove_app(struct store *s, int64_t app_row, int64_t now)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_REMOVE);
    sql_bind_i64(q, 1, app_row);
    sql_bind_i64(q, 2, now);
    return sql_update(s->sql, q);
}

/* --- keys of apps --- */

enum err store_count_app_keys(struct store *s, int64_t app_row, int64_t *count)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_KEYS_LIVE);
    sql_bind_i64(q, 1, app_row);
    return sql_one_i64(s->sql, q, count);
}

/* A position in the keys of an app, which are ordered by author. */
struct app_key_position {
    int64_t author_row, key_row;
};

/* Advances to the app's next live key. Returns ERR_NOT_FOUND after the last one. */
static enum err next_app_key(struct store *s, int64_t app_row, struct app_key_position *at)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_APP_KEY_NEXT_LIVE);
    sql_bind_i64(q, 1, app_row);
    sql_bind_i64(q, 2, at->author_row);
    sql_bind_i64(q, 3, at->key_row);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    at->key_row = sql_i64(q, 0);
    at->author_row = sql_i64(q, 1);
    sql_reset(q);
    return OK;
}

enum err store_revoke_app_keys(struct store *s, int64_t app_row, int64_t author_row, int64_t now,
                               const struct actor *by, int *count)
{
    struct app_key_position at = {.author_row = author_row};
    enum err err;
    *count = 0;
    while ((err = next_app_key(s, app_row, &at)) == OK && (!author_row || at.author_row == author_row)) {
        err = store_revoke_key(s, at.key_row, now, by);
        if (err)
            return err;
        ++*count;
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- codes --- */

enum err store_insert_code(struct store *s, const uint8_t hash[SECRET_HASH_LEN],
                           const struct code_record *code)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CODE_INSERT);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    sql_bind_i64(q, 2, code->app_row);
    sql_bind_i64(q, 3, code->author_row);
    sql_bind_text(q, 4, code->redirect_uri);
    sql_bind_text(q, 5, code->challenge);
    sql_bind_i64(q, 6, code->created_at);
    sql_bind_text(q, 7, code->webhook_url);
    return sql_write(s->sql, q);
}

enum err store_find_code(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                         struct code_record *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CODE_BY_HASH);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err;
    *out = (struct code_record){
        .app_row = sql_i64(q, 0),
        .author_row = sql_i64(q, 1),
        .redirect_uri = row_copy_text(a, sql_text(q, 2)),
        .challenge = row_copy_text(a, sql_text(q, 3)),
        .created_at = sql_i64(q, 4),
        .used_at = sql_i64_or(q, 5, TIME_NONE),
        .key_row = sql_i64_or(q, 6, 0),
        .webhook_url = row_copy_text(a, sql_text(q, 7)),
    };
    sql_reset(q);
    return OK;
}

enum err store_mark_code_used(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                              int64_t key_row)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_CODE_USE);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    sql_bind_i64(q, 2, now);
    sql_bind_i64_or_null(q, 3, key_row, 0);
    return sql_update(s->sql, q);
}

static enum err purge(struct store *s, enum query query, int64_t before)
{
    struct sql_statement *q = sql_use(s->sql, query);
    sql_bind_i64(q, 1, before);
    return sql_write(s->sql, q);
}

enum err store_purge_codes(struct store *s, int64_t unused_before, int64_t used_before)
{
    enum err err = purge(s, QUERY_CODES_PURGE_IDLE, unused_before);
    return err ? err : purge(s, QUERY_CODES_PURGE_SPENT, used_before);
}

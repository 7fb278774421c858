/* Implements the simulated platform, transactions that can fail, and helpers for tests. */
#include "lib/credential_rig.h"

#include "unit.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

struct credential_rig rig;

/* ---- the platform, and the transactions ---- */

static void send_request(void *ctx, const struct http_request *request,
                         void (*done)(void *done_ctx, const struct http_result *result), void *done_ctx)
{
    (void)ctx;
    assert_true(rig.sent < SENDS_MAX);
    assert_true(request->once);
    (void)snprintf(rig.bodies[rig.sent], sizeof rig.bodies[0], "%s %.*s %.*s", request->method,
                   (int)request->path.len, request->path.p, (int)request->body.len,
                   request->body.len ? request->body.p : "");
    rig.done[rig.sent] = done;
    rig.done_ctx[rig.sent++] = done_ctx;
}

void rig_deliver(void)
{
    while (rig.delivered < rig.sent) {
        const struct reply *r = &rig.replies[rig.delivered];
        struct http_result result = {.error = r->error,
                                     .response = {.status = r->status, .body = str_from_cstr(r->body)}};
        int i = rig.delivered++;
        rig.done[i](rig.done_ctx[i], &result);
    }
}

static enum err commit(void *ctx)
{
    (void)ctx;
    if (rig.commits_to_fail > 0 && rig.commits_to_fail-- == 1) {
        store_rollback(rig.db.w);
        return ERR_FULL;
    }
    return store_commit(rig.db.w);
}

void rig_open_refresher(void)
{
    const struct token_sender sender = {.send = send_request};
    struct transaction_scope scope = transaction_scope_plain(rig.db.w);
    scope.commit = commit;
    scope.heartbeat = rig.heartbeat;
    rig.refresher = token_refresher_new(&rig.config, &sender, rig.keys, &scope);
}

int credential_rig_init(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof rig);
    if (sodium_init() < 0)
        return -1;
    temp_db_init(&rig.db);
    (void)snprintf(rig.key_path, sizeof rig.key_path, "%s/key", rig.db.dir);
    assert_int_equal(seal_create_key_file(rig.key_path, rig.key_path, &rig.error), OK);
    assert_int_equal(seal_keys_open(&rig.keys, rig.key_path, &rig.error), OK);
    config_init(&rig.config);
    free(rig.config.secrets.key_file);
    rig.config.secrets.key_file = strdup(rig.key_path);
    free(rig.config.platform[PLATFORM_TIKTOK].client_id);
    rig.config.platform[PLATFORM_TIKTOK].client_id = strdup("CK");
    test_begin(&rig.db);
    rig.author = add_author(&rig.db, 1);
    rig.other = add_author(&rig.db, 2);
    test_commit(&rig.db);
    rig_open_refresher();
    return 0;
}

int credential_rig_fini(void **state)
{
    (void)state;
    token_refresher_free(rig.refresher);
    seal_keys_close(rig.keys);
    config_fini(&rig.config);
    temp_db_fini(&rig.db);
    return 0;
}

/* ---- shortcuts for tests ---- */

enum err rig_put(const struct author *author, enum platform_api api, const char *id, const char *access,
                 const char *refresh, int64_t *row)
{
    struct account_record r;
    const struct linked_account account = {.api = api,
                                           .id = str_from_cstr(id),
                                           .name = STR("Ann"),
                                           .grant = {.access_token = str_from_cstr(access),
                                                     .refresh_token = str_from_cstr(refresh),
                                                     .scopes = STR("video.list"),
                                                     .expires_in_s = 7200,
                                                     .refresh_expires_in_s = 86400}};
    assert_int_equal(account_record_init(&r, author->row, &account, NOW, NULL), OK);
    test_begin(&rig.db);
    enum err err = account_record_store(&r, rig.keys, rig.db.w, row);
    account_record_wipe(&r);
    if (err)
        store_rollback(rig.db.w);
    else
        test_commit(&rig.db);
    return err;
}

int64_t rig_put_tiktok(void)
{
    int64_t row = 0;
    assert_int_equal(rig_put(&rig.author, API_TIKTOK, "open-1", "act.1", "rft.1", &row), OK);
    return row;
}

struct credential rig_get(int64_t row)
{
    struct credential c;
    assert_int_equal(store_get_credential(rig.db.w, &rig.db.arena, row, &c), OK);
    return c;
}

void rig_assert_tokens(int64_t row, const char *access, const char *refresh)
{
    struct tokens k;
    assert_int_equal(tokens_load(rig.db.w, rig.keys, row, &k), OK);
    assert_str(k.grant.access_token, access);
    assert_str(k.grant.refresh_token, refresh);
    tokens_wipe(&k);
}

void rig_on_completed(void *ctx, const struct token_refresh_result *result)
{
    const int64_t *row = ctx;
    struct credential c;
    rig.results[rig.completed++] = *result;
    /* Reads on another connection, which sees only committed data. */
    if (store_get_credential(rig.db.r, &rig.db.arena, *row, &c) == OK)
        rig.version_when_completed = c.version;
}

enum token_refresh_status rig_refresh(int64_t row, int64_t version, const struct reply *replies)
{
    struct token_refresh_result result;
    rig.replies = replies;
    rig.completed = rig.sent = rig.delivered = 0;
    if (token_refresher_start(rig.refresher, row, version, &result, rig_on_completed, &row) == NEXT_MORE) {
        rig.results[0] = result;
        return result.status;
    }
    assert_int_equal(rig.completed, 0);
    rig_deliver();
    assert_int_equal(rig.completed, 1);
    assert_int_equal(token_refresher_in_flight(rig.refresher), 0);
    return rig.results[0].status;
}

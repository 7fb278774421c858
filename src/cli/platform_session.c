/* Opens sessions and makes one call at a time: runs the event loop until the call completes. */
#include "cli/platform_session.h"

#include "cli/database.h"
#include "cli/output.h"

#include "base/check.h"
#include "base/clock.h"
#include "net/http_client.h"
#include "store/write.h"

#include <stdio.h>
#include <stdlib.h>

enum { ARENA_BYTES = 64 * 1024 };

/* ---- opening and closing ---- */

static enum err load_account(struct platform_session *a, int64_t row)
{
    enum err err = store_get_credential(a->store, &a->arena, row, &a->account);
    if (!err)
        a->desc = platform_desc((enum platform_api)a->account.api);
    return err;
}

static bool open_network(struct platform_session *a)
{
    const struct transaction_scope scope = transaction_scope_plain(a->store);
    const struct http_client_options options = platform_client_options(a->config);
    CHECK(uv_loop_init(&a->loop) == 0);
    a->client = http_client_new(&a->loop, &options);
    if (!a->client) {
        CHECK(uv_loop_close(&a->loop) == 0);
        return false;
    }
    const struct token_sender sender = token_sender_of(a->client);
    a->refresher = token_refresher_new(a->config, &sender, a->keys, &scope);
    return true;
}

enum cli_exit platform_session_open(struct cli *cli, int64_t row, struct platform_session **out)
{
    struct error error;
    if (http_client_check(&error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    struct platform_session *a = xcalloc(1, sizeof *a);
    a->config = &cli->config;
    arena_init(&a->arena, ARENA_BYTES);
    arena_init(&a->call_arena, ARENA_BYTES);
    enum cli_exit code = CLI_COULD_NOT;
    if (seal_keys_open(&a->keys, cli->config.secrets.key_file, &error)) {
        a->keys = NULL;
        code = cli_fail(CLI_USAGE, "%s", error.text);
        goto fail;
    }
    a->store = cli_open_store(cli);
    if (!a->store)
        goto fail;
    enum err err = load_account(a, row);
    if (err) {
        code = err == ERR_NOT_FOUND
                   ? cli_fail(CLI_PART, "no account has this number (see viewtally platform list)")
                   : cli_fail(CLI_COULD_NOT, "database error: %s", err_name(err));
        goto fail;
    }
    a->options = platform_options_of(a->config, a->desc->api);
    a->options.by_key = false;
    a->token_refresh_result.status = TOKEN_REFRESHED;
    if (!open_network(a)) {
        code = cli_fail(CLI_COULD_NOT, "out of memory");
        goto fail;
    }
    *out = a;
    return CLI_DONE;
fail:
    platform_session_close(a);
    return code;
}

static void on_closed(void *ctx)
{
    (void)ctx;
}

void platform_session_close(struct platform_session *a)
{
    if (a->client) {
        token_refresher_free(a->refresher);
        http_client_close(a->client, on_closed, NULL);
        (void)uv_run(&a->loop, UV_RUN_DEFAULT);
        CHECK(uv_loop_close(&a->loop) == 0);
    }
    arena_wipe(&a->call_arena);
    arena_fini(&a->call_arena);
    arena_fini(&a->arena);
    if (a->store)
        store_close(a->store);
    if (a->keys)
        seal_keys_close(a->keys);
    free(a);
}

/* ---- tokens ---- */

static void await(struct platform_session *a)
{
    while (a->waiting)
        (void)uv_run(&a->loop, UV_RUN_ONCE);
}

static void on_tokens(void *ctx, const struct token_refresh_result *result)
{
    struct platform_session *a = ctx;
    a->token_refresh_result = *result;
    a->waiting = false;
}

bool platform_session_refresh(struct platform_session *a)
{
    a->refreshed = true;
    a->waiting = token_refresher_start(a->refresher, a->account.row, a->account.version,
                                       &a->token_refresh_result, on_tokens, a) == NEXT_WAIT;
    await(a);
    return a->token_refresh_result.status == TOKEN_REFRESHED && load_account(a, a->account.row) == OK;
}

bool platform_session_refresh_if_due(struct platform_session *a)
{
    struct credential c = a->account;
    c.state = CREDENTIAL_CONNECTED;
    return !token_refresh_is_due(a->desc, &c, clock_wall_ms(), false) || platform_session_refresh(a);
}

/* ---- one call ---- */

static void on_response(void *ctx, const struct http_result *result)
{
    struct platform_session *a = ctx;
    struct arena *to = &a->call_arena;
    const struct http_response *r = &result->response;
    a->waiting = false;
    if (result->error != TRANSPORT_OK) {
        (void)snprintf(a->network_text, sizeof a->network_text, "%s",
                       result->why ? result->why : transport_error_name(result->error));
        a->network = a->network_text;
        return;
    }
    struct http_header *headers = arena_alloc(to, (r->header_count + 1) * sizeof *headers);
    for (size_t i = 0; i < r->header_count; i++)
        headers[i] =
            (struct http_header){arena_copy(to, r->headers[i].name), arena_copy(to, r->headers[i].value)};
    a->response = (struct http_response){.status = r->status,
                                         .body = arena_copy(to, r->body),
                                         .headers = headers,
                                         .header_count = r->header_count};
}

enum err platform_session_send(struct platform_session *a, struct platform_call *call)
{
    struct tokens tokens = {.memory = NULL};
    arena_wipe(&a->call_arena);
    struct http_request *request = arena_alloc(&a->call_arena, sizeof *request);
    *request = (struct http_request){.method = "GET"};
    enum err err = call->by_key ? OK : tokens_decrypt(a->keys, &a->account, &tokens);
    if (err)
        return err;
    a->network = NULL;
    a->request = request;
    call->access_token = call->by_key ? a->options.api_key : tokens.grant.access_token;
    a->desc->build(&a->call_arena, call, request);
    a->waiting = true;
    (void)http_client_send(a->client, request, on_response, a);
    tokens_wipe(&tokens);
    call->access_token = str_make(NULL, 0);
    await(a);
    return OK;
}

/* ---- error messages ---- */

void platform_session_name(const struct platform_session *a, char name[SESSION_NAME_MAX])
{
    (void)snprintf(name, SESSION_NAME_MAX, "%s account %.*s", a->desc->name, (int)a->account.account_id.len,
                   a->account.account_id.p);
}

enum cli_exit platform_session_print_token_error(const struct platform_session *a)
{
    const struct token_refresh_result *t = &a->token_refresh_result;
    char account[SESSION_NAME_MAX];
    platform_session_name(a, account);
    switch (t->status) {
    case TOKEN_RECONNECT:
        return cli_fail(
            CLI_PART,
            "%s: reconnect required: the tokens could not be refreshed (%s); the author must sign in again",
            account, t->code);
    case TOKEN_APP_REJECTED:
        if (strcmp(t->code, TOKEN_NO_APP) == 0)
            return cli_fail(CLI_USAGE,
                            "%s: the tokens cannot be refreshed, because no app is configured: set client_id "
                            "in [%s]",
                            account, platform_name(a->desc->section).p);
        return cli_fail(CLI_USAGE,
                        "%s: %s rejected your app during the token refresh (%s): check client_id and "
                        "client_secret in the "
                        "configuration",
                        account, a->desc->title, t->code);
    case TOKEN_ACCOUNT_REMOVED: return cli_fail(CLI_PART, "%s: the account has been removed", account);
    case TOKEN_STORE_FAILED:
        return cli_fail(
            CLI_COULD_NOT,
            "%s: the tokens could not be refreshed, because the database or the key file failed: %s", account,
            t->code);
    case TOKEN_RETRY_LATER:
    case TOKEN_REFRESHED: break;
    }
    return cli_fail(CLI_COULD_NOT, "%s: the tokens could not be refreshed (%s): try again later", account,
                    t->code);
}

enum cli_exit platform_session_print_send_error(enum err err)
{
    if (err == ERR_NOT_FOUND || err == ERR_CORRUPT)
        return cli_fail(CLI_USAGE, "the tokens cannot be decrypted (see viewtally secrets check)");
    return cli_fail(CLI_COULD_NOT, "database error: %s", err_name(err));
}

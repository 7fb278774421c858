/* The states of a token refresh:
 *
 *     start() --marked in the database--> SENT --new tokens, committed--> REFRESHED
 *                                          |--no response, first attempt--> SENT again with the same token
 *                                          `--anything else--> RETRY_LATER, RECONNECT, …
 *
 * The mark (refresh_sent_at) means that a request may have been sent, so the platform may no longer accept
 * the stored refresh token. The mark stays if no clear response came. If the platform then rejects the token,
 * perhaps in another run after a crash, the cause is known ("lost_in_refresh"). While the mark is recent, no
 * other process refreshes the account. */
#include "fetch/token_refresh.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/vec.h"
#include "net/http_client.h"
#include "vault/tokens.h"

#include <stdio.h>
#include <stdlib.h>

/* A mark counts as recent for the longest time that TRIES_MAX requests can take, plus MARK_SLACK_MS. */
enum { TRIES_MAX = 2, COMMIT_TRIES = 3, MARK_SLACK_MS = 5000, ARENA_BYTES = 8192 };

struct refresh_waiter {
    token_done_fn *done;
    void *ctx;
};

struct token_refresh {
    struct list link;
    struct token_refresher *refresher;
    struct tokens tokens;
    struct arena arena; /* memory of the request and of the parsed response */
    int tries;
    bool may_be_spent; /* an earlier request with this refresh token had no clear response */
    VEC(struct refresh_waiter) waiters;
};

struct token_refresher {
    const struct config *config;
    struct token_sender sender;
    struct seal_keys *keys;
    struct transaction_scope scope;
    struct list in_flight;
    size_t in_flight_count;
    struct token_refresh_counts counts[PLATFORM_APIS];
};

static void send_by_client(void *ctx, const struct http_request *request,
                           void (*done)(void *done_ctx, const struct http_result *result), void *done_ctx)
{
    (void)http_client_send(ctx, request, done, done_ctx);
}

struct token_sender token_sender_of(struct http_client *client)
{
    return (struct token_sender){.ctx = client, .send = send_by_client};
}

struct token_refresher *token_refresher_new(const struct config *config, const struct token_sender *sender,
                                            struct seal_keys *keys, const struct transaction_scope *scope)
{
    struct token_refresher *r = xcalloc(1, sizeof *r);
    r->config = config;
    r->sender = *sender;
    r->keys = keys;
    r->scope = *scope;
    list_init(&r->in_flight);
    return r;
}

void token_refresher_free(struct token_refresher *r)
{
    if (!r)
        return;
    CHECK(!r->in_flight_count);
    free(r);
}

size_t token_refresher_in_flight(const struct token_refresher *r)
{
    return r->in_flight_count;
}

const struct token_refresh_counts *token_refresher_counts(const struct token_refresher *r,
                                                          enum platform_api api)
{
    return &r->counts[api];
}

/* ---- completing a token refresh ---- */

static struct token_refresh_result result_of(enum token_refresh_status status, struct str code)
{
    struct token_refresh_result result = {.status = status};
    (void)snprintf(result.code, sizeof result.code, "%.*s", (int)code.len, code.len ? code.p : "");
    return result;
}

static struct token_refresh_result store_failed(enum err err)
{
    struct token_refresh_result result = result_of(TOKEN_STORE_FAILED, str_from_cstr(err_name(err)));
    result.err = err;
    return result;
}

static void count(struct token_refresher *r, enum platform_api api, enum token_refresh_status status)
{
    struct token_refresh_counts *c = &r->counts[api];
    switch (status) {
    case TOKEN_REFRESHED: c->refreshed++; break;
    case TOKEN_RETRY_LATER: c->retry_later++; break;
    case TOKEN_RECONNECT: c->reconnect++; break;
    case TOKEN_APP_REJECTED: c->app_rejected++; break;
    case TOKEN_STORE_FAILED: c->store_failed++; break;
    case TOKEN_ACCOUNT_REMOVED: break;
    }
}

static void refresh_free(struct token_refresh *refresh)
{
    tokens_wipe(&refresh->tokens);
    arena_wipe(&refresh->arena);
    arena_fini(&refresh->arena);
    VEC_FREE(&refresh->waiters);
    free(refresh);
}

static void log_result(const struct token_refresh *refresh, const struct token_refresh_result *result)
{
    const char *name = platform_desc(refresh->tokens.api)->name;
    const struct str account = refresh->tokens.grant.account_id;
    if (result->status == TOKEN_APP_REJECTED)
        log_error("%s rejects our app: %s", name, result->code);
    else if (result->status != TOKEN_REFRESHED)
        log_warn("%s: could not refresh the tokens of account %.*s: %s", name, (int)account.len, account.p,
                 result->code);
}

/* Completes a refresh. The refresh is unlinked before the waiters are called, because they may start another
 * refresh. */
static void complete(struct token_refresh *refresh, const struct token_refresh_result *result)
{
    struct token_refresher *r = refresh->refresher;
    list_remove(&refresh->link);
    r->in_flight_count--;
    count(r, refresh->tokens.api, result->status);
    log_result(refresh, result);
    tokens_wipe(&refresh->tokens);
    arena_wipe(&refresh->arena);
    for (size_t i = 0; i < refresh->waiters.count; i++)
        refresh->waiters.items[i].done(refresh->waiters.items[i].ctx, result);
    refresh_free(refresh);
}

/* ---- storing the new tokens ---- */

struct mark {
    const struct token_refresh *refresh;
    bool acquired;
};

static enum err set_mark(struct store *store, void *ctx)
{
    struct mark *m = ctx;
    const struct token_refresh *refresh = m->refresh;
    const int64_t now = clock_wall_ms();
    const int64_t timeout_ms = refresh->refresher->config->platforms.timeout_ms;
    const int64_t not_since = now - TRIES_MAX * timeout_ms - MARK_SLACK_MS;
    return store_begin_token_refresh(store, refresh->tokens.row, refresh->tokens.version, now, not_since,
                                     &m->acquired);
}

static enum err delete_mark(struct store *store, void *ctx)
{
    const struct token_refresh *refresh = ctx;
    return store_end_token_refresh(store, refresh->tokens.row, refresh->tokens.version);
}

/* Deletes the mark. Call if the platform did not receive the request, or if its response was clear. If
 * deleting fails, the next refresh of the account is delayed, and a later rejection of its refresh token is
 * reported as "lost_in_refresh". */
static void clear_mark(struct token_refresh *refresh)
{
    const struct str account = refresh->tokens.grant.account_id;
    if (transaction_run_repeatable(&refresh->refresher->scope, delete_mark, refresh))
        log_warn(
            "could not record that the token refresh of account %.*s failed; its next refresh is delayed",
            (int)account.len, account.p);
}

struct token_swap {
    const struct token_refresh *refresh;
    const struct token_grant *received;
    bool swapped;
};

/* Seals the received tokens into `c`, which the database has just returned. */
static enum err seal_received(const struct token_swap *swap, struct credential *c, struct buf *access,
                              struct buf *refresh_token)
{
    const struct token_refresh *refresh = swap->refresh;
    const struct token_grant *received = swap->received;
    const int64_t now = clock_wall_ms();
    struct token_grant grant = *received;
    if (!grant.refresh_token.len) {
        grant.refresh_token = refresh->tokens.grant.refresh_token;
        grant.refresh_expires_in_s = 0;
    }
    c->version = refresh->tokens.version;
    const enum err err = tokens_seal(refresh->refresher->keys, c, &grant, access, refresh_token);
    if (err)
        return err;
    c->access_expires_at = token_expiry(platform_desc(refresh->tokens.api), grant.expires_in_s, now);
    /* If the response neither replaces the refresh token nor reports an expiry, the stored expiry remains
     * valid. */
    if (received->refresh_token.len || grant.refresh_expires_in_s > 0)
        c->refresh_expires_at = refresh_token_expiry(grant.refresh_expires_in_s, now);
    if (grant.scopes.len && grant.scopes.len <= SCOPES_MAX)
        c->scopes = grant.scopes;
    c->obtained_at = now;
    return OK;
}

/* Stores the new tokens. Reads the row again, because the row may have been removed, and because it contains
 * the scopes, which the response may lack. */
static enum err swap_tokens(struct store *store, void *ctx)
{
    struct token_swap *swap = ctx;
    struct credential c;
    struct buf access, refresh_token;
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    buf_init(&access, SEAL_PLAIN_MAX + SEAL_OVERHEAD);
    buf_init(&refresh_token, SEAL_PLAIN_MAX + SEAL_OVERHEAD);
    enum err err = store_get_credential(store, &a, swap->refresh->tokens.row, &c);
    if (!err)
        err = seal_received(swap, &c, &access, &refresh_token);
    if (!err)
        err = store_swap_tokens(store, &c, &swap->swapped);
    buf_fini(&access);
    buf_fini(&refresh_token);
    arena_fini(&a);
    return err;
}

/* Stores the new tokens. Retries after an error, which may be temporary, because the only copy of the tokens
 * is in memory. */
static struct token_refresh_result save_tokens(struct token_refresh *refresh,
                                               const struct token_grant *received)
{
    struct token_swap swap = {.refresh = refresh, .received = received};
    const struct str account = refresh->tokens.grant.account_id;
    enum err err = OK;
    for (int i = 0; i < COMMIT_TRIES; i++) {
        err = transaction_run_repeatable(&refresh->refresher->scope, swap_tokens, &swap);
        if (!err || err == ERR_NOT_FOUND)
            break;
    }
    if (!err)
        return result_of(TOKEN_REFRESHED, swap.swapped ? STR("ok") : STR("elsewhere"));
    if (err == ERR_NOT_FOUND) /* there is no row, or no key to seal with */
        return seal_has_keys(refresh->refresher->keys) ? result_of(TOKEN_ACCOUNT_REMOVED, STR("removed"))
                                                       : store_failed(err);
    log_error("could not store the refreshed tokens of account %.*s: %s", (int)account.len, account.p,
              err_name(err));
    return store_failed(err);
}

/* ---- requests and responses ---- */

static void on_response(void *ctx, const struct http_result *http);

static void send_refresh(struct token_refresh *refresh)
{
    struct token_refresher *r = refresh->refresher;
    const struct platform_desc *desc = platform_desc(refresh->tokens.api);
    const struct platform_options options = platform_options_of(r->config, desc->api);
    const struct platform_app app = platform_app_of(r->config, desc->api);
    struct http_request request = {.method = "POST"};
    arena_wipe(&refresh->arena);
    desc->build_refresh(&refresh->arena, &options, &app, &refresh->tokens.grant, &request);
    request.once = true;
    refresh->tries++;
    r->sender.send(r->sender.ctx, &request, on_response, refresh);
}

/* Returns true if the platform may have received the request and issued new tokens. */
static bool may_have_arrived(enum transport_error error)
{
    switch (error) {
    case TRANSPORT_DNS:
    case TRANSPORT_CONNECT:
    case TRANSPORT_TLS:
    case TRANSPORT_ADDRESS:
    case TRANSPORT_REQUEST: return false;
    case TRANSPORT_OK:
    case TRANSPORT_TIMEOUT:
    case TRANSPORT_RESET:
    case TRANSPORT_TOO_LARGE:
    case TRANSPORT_PROTOCOL: break;
    }
    return true;
}

/* Sends the request a second time if the platform may have received it. Makes no second attempt while the
 * process is stopping, because both attempts can take longer than service managers wait for a process to end.
 * In that case the mark (refresh_sent_at) stays, and the next run sends the same token again. */
static void handle_transport_error(struct token_refresh *refresh, enum transport_error error)
{
    if (may_have_arrived(error)) {
        refresh->may_be_spent = true;
        if (refresh->tries < TRIES_MAX && transaction_heartbeat(&refresh->refresher->scope) == OK) {
            send_refresh(refresh);
            return;
        }
    } else if (!refresh->may_be_spent) {
        clear_mark(refresh);
    }
    const struct token_refresh_result result =
        result_of(TOKEN_RETRY_LATER, str_from_cstr(transport_error_name(error)));
    complete(refresh, &result);
}

static struct token_refresh_result handle_rejection(struct token_refresh *refresh, const struct outcome *o,
                                                    int status)
{
    struct token_refresh_result result = result_of(TOKEN_RETRY_LATER, o->code);
    result.wait_ms = o->wait_ms;
    result.scope = o->scope;
    switch (o->kind) {
    case OUTCOME_RECONNECT:
    case OUTCOME_TOKEN_REJECTED:
        /* If the response to an earlier request was lost, that request has probably used up the token. */
        result = result_of(TOKEN_RECONNECT, refresh->may_be_spent ? STR("lost_in_refresh") : o->code);
        break;
    case OUTCOME_APP_REJECTED: result = result_of(TOKEN_APP_REJECTED, o->code); break;
    /* An invalid request may concern only this account, so it must not stop the calls of all accounts. */
    case OUTCOME_BAD_REQUEST:
    case OUTCOME_OK:
    case OUTCOME_RETRY:
    case OUTCOME_QUOTA_SPENT:
    case OUTCOME_OTHER_FORM:
    case OUTCOME_SPLIT:
    case OUTCOME_MALFORMED: break;
    }
    /* In all other cases the mark stays: a 5xx status or an unreadable body may have replaced a response that
     * contained new tokens, or an earlier request may have used up the token. */
    if (status >= 400 && status < 500 && (!refresh->may_be_spent || result.status == TOKEN_RECONNECT))
        clear_mark(refresh);
    return result;
}

static struct token_refresh_result handle_response(struct token_refresh *refresh,
                                                   const struct http_response *response)
{
    const struct platform_desc *desc = platform_desc(refresh->tokens.api);
    struct token_grant received = {.expires_in_s = 0};
    const struct outcome o = desc->parse_refresh(&refresh->arena, response, &received);
    if (o.kind != OUTCOME_OK || !received.access_token.len)
        return handle_rejection(refresh, &o, response->status);
    if (received.account_id.p && !str_eq(received.account_id, refresh->tokens.grant.account_id)) {
        clear_mark(refresh);
        return result_of(TOKEN_RECONNECT, STR("other_account"));
    }
    return save_tokens(refresh, &received);
}

static void on_response(void *ctx, const struct http_result *http)
{
    struct token_refresh *refresh = ctx;
    if (http->error != TRANSPORT_OK) {
        handle_transport_error(refresh, http->error);
        return;
    }
    const struct token_refresh_result result = handle_response(refresh, &http->response);
    complete(refresh, &result);
}

/* ---- starting a token refresh ---- */

static void add_waiter(struct token_refresh *refresh, token_done_fn *done, void *ctx)
{
    *VEC_ADD(&refresh->waiters) = (struct refresh_waiter){.done = done, .ctx = ctx};
}

/* Returns false and sets `*result` if no request is needed, or if none is possible. */
static bool can_refresh(const struct token_refresher *r, const struct credential *c, int64_t version,
                        struct token_refresh_result *result)
{
    const struct platform_desc *desc = platform_desc((enum platform_api)c->api);
    /* An Instagram token is refreshed with itself, without a refresh token. Only tokens of this kind have a
     * minimum age. */
    const bool refreshes_itself = desc->refresh_min_age_s > 0;
    if (c->version > version)
        *result = result_of(TOKEN_REFRESHED, STR("ok"));
    else if (desc->refresh_before_s < 0 || !desc->build_refresh)
        *result = result_of(TOKEN_RECONNECT, STR("no_refresh"));
    else if (!c->refresh_sealed.p && !refreshes_itself)
        *result = result_of(TOKEN_RECONNECT, STR("no_refresh_token"));
    else if (!platform_app_of(r->config, desc->api).client_id.len)
        *result = result_of(TOKEN_APP_REJECTED, STR(TOKEN_NO_APP));
    else
        return true;
    return false;
}

static struct token_refresh *refresh_new(struct token_refresher *r, const struct credential *c)
{
    struct token_refresh *refresh = xcalloc(1, sizeof *refresh);
    list_init(&refresh->link);
    refresh->refresher = r;
    refresh->may_be_spent = c->refresh_sent_at != TIME_NONE;
    arena_init(&refresh->arena, ARENA_BYTES);
    return refresh;
}

/* Decrypts the tokens and sets the mark. On failure, returns false and sets `*result`. */
static bool prepare(struct token_refresh *refresh, const struct credential *c,
                    struct token_refresh_result *result)
{
    struct mark m = {.refresh = refresh};
    enum err err = tokens_decrypt(refresh->refresher->keys, c, &refresh->tokens);
    if (err == ERR_CORRUPT) { /* only this row is damaged: reconnecting repairs it */
        *result = result_of(TOKEN_RECONNECT, STR("sealed"));
        return false;
    }
    if (!err)
        err = transaction_run_repeatable(&refresh->refresher->scope, set_mark, &m);
    if (!err && m.acquired)
        return true;
    *result = err ? store_failed(err) : result_of(TOKEN_RETRY_LATER, STR("elsewhere"));
    return false;
}

static enum next start(struct token_refresher *r, const struct credential *c,
                       struct token_refresh_result *result, token_done_fn *done, void *ctx)
{
    struct token_refresh *refresh = refresh_new(r, c);
    if (!prepare(refresh, c, result)) {
        refresh_free(refresh);
        return NEXT_MORE;
    }
    add_waiter(refresh, done, ctx);
    list_add_last(&r->in_flight, &refresh->link);
    r->in_flight_count++;
    send_refresh(refresh);
    return NEXT_WAIT;
}

enum next token_refresher_start(struct token_refresher *r, int64_t row, int64_t version,
                                struct token_refresh_result *result, token_done_fn *done, void *ctx)
{
    struct arena a;
    struct credential c;
    enum next next = NEXT_MORE;
    for (struct list *l = r->in_flight.next; l != &r->in_flight; l = l->next) {
        struct token_refresh *refresh = LIST_ENTRY(l, struct token_refresh, link);
        if (refresh->tokens.row != row)
            continue;
        add_waiter(refresh, done, ctx);
        return NEXT_WAIT;
    }
    arena_init(&a, ARENA_BYTES);
    const enum err err = store_get_credential(r->scope.store, &a, row, &c);
    if (err == ERR_NOT_FOUND)
        *result = result_of(TOKEN_ACCOUNT_REMOVED, STR("removed"));
    else if (err)
        *result = store_failed(err);
    else if (can_refresh(r, &c, version, result))
        next = start(r, &c, result, done, ctx);
    arena_fini(&a);
    return next;
}

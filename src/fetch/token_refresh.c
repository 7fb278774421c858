/* Refreshing tokens: one request for each account however many ask, and the new pair on disk before anyone
 * uses it. Each flight:
 *
 *     ask --marked in the database--> SENT --pair, committed--> told: NEWER
 *                                          --no answer, first time--> SENT again with the same pair
 *                                          --anything else--> told
 *
 * The mark says that the pair may be spent: it stays where no clear answer came, so that a refusal
 * afterwards, perhaps of another run after a crash, is known for what it is ("lost_in_refresh"), and while it
 * is fresh nobody else refreshes this account. Knows no schedule and no screen. */
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/http_client.h"
#include "vault/tokens.h"

#include <stdio.h>
#include <stdlib.h>

enum { TRIES_MAX = 2, COMMIT_TRIES = 3, MARK_SLACK_MS = 5000, ARENA_BYTES = 8192 };

struct waiter {
    struct waiter *next;
    token_done_fn *done;
    void *ctx;
};

struct flight {
    struct flight *next;
    struct token_refresher *refresher;
    struct tokens tokens;
    struct arena arena; /* of the request and of what is read from its answer */
    int tries;
    bool unsure; /* a request with this pair went out before and had no clear answer */
    struct waiter *waiters;
};

struct token_refresher {
    const struct config *config;
    struct token_sender sender;
    struct seal_keys *keys;
    struct transaction_scope scope;
    struct flight *flights;
    size_t in_flight;
    struct token_refresh_counts counts[PLATFORM_APIS];
};

static void send_by_fetch(void *ctx, const struct http_request *request,
                          void (*done)(void *done_ctx, const struct http_result *result), void *done_ctx)
{
    (void)http_client_send(ctx, request, done, done_ctx);
}

struct token_sender token_sender_of(struct http_client *client)
{
    return (struct token_sender){.ctx = client, .send = send_by_fetch};
}

struct token_refresher *token_refresher_new(const struct config *config, const struct token_sender *sender,
                                            struct seal_keys *keys, const struct transaction_scope *scope)
{
    struct token_refresher *r = xcalloc(1, sizeof *r);
    r->config = config;
    r->sender = *sender;
    r->keys = keys;
    r->scope = *scope;
    return r;
}

void token_refresher_free(struct token_refresher *r)
{
    if (!r)
        return;
    CHECK(!r->in_flight);
    free(r);
}

size_t token_refresher_in_flight(const struct token_refresher *r)
{
    return r->in_flight;
}

const struct token_refresh_counts *token_refresher_counts(const struct token_refresher *r,
                                                          enum platform_api api)
{
    return &r->counts[api];
}

/* ---- answers ---- */

static struct token_refresh_result answer_of(enum token_refresh_status result, struct str code)
{
    struct token_refresh_result a = {.result = result};
    (void)snprintf(a.code, sizeof a.code, "%.*s", (int)code.len, code.len ? code.p : "");
    return a;
}

static struct token_refresh_result answer_failed(enum err err)
{
    struct token_refresh_result a = answer_of(TOKEN_STORE_FAILED, str_from_cstr(err_name(err)));
    a.err = err;
    return a;
}

static void count(struct token_refresher *r, enum platform_api api, enum token_refresh_status result)
{
    struct token_refresh_counts *c = &r->counts[api];
    switch (result) {
    case TOKEN_REFRESHED: c->done++; break;
    case TOKEN_RETRY_LATER: c->later++; break;
    case TOKEN_RECONNECT: c->sign_in++; break;
    case TOKEN_APP_REJECTED: c->operator_side++; break;
    case TOKEN_STORE_FAILED: c->failed++; break;
    case TOKEN_ACCOUNT_REMOVED: break;
    }
}

static void flight_free(struct flight *f)
{
    tokens_close(&f->tokens);
    arena_wipe(&f->arena);
    arena_fini(&f->arena);
    free(f);
}

/* Out of the list first: who is told may ask again. */
static void land(struct flight *f, const struct token_refresh_result *answer)
{
    struct token_refresher *r = f->refresher;
    struct waiter *waiters = f->waiters;
    const char *name = platform_desc(f->tokens.api)->name;
    for (struct flight **at = &r->flights; *at; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            break;
        }
    r->in_flight--;
    count(r, f->tokens.api, answer->result);
    if (answer->result == TOKEN_APP_REJECTED)
        log_error("%s refuses our app: %s", name, answer->code);
    else if (answer->result != TOKEN_REFRESHED)
        log_warn("%s: the tokens of account %.*s were not refreshed: %s", name,
                 (int)f->tokens.grant.account_id.len, f->tokens.grant.account_id.p, answer->code);
    flight_free(f);
    while (waiters) {
        struct waiter *w = waiters;
        waiters = w->next;
        w->done(w->ctx, answer);
        free(w);
    }
}

/* ---- writing ---- */

struct mark {
    const struct flight *flight;
    bool ours;
};

static enum err mark(struct store *store, void *ctx)
{
    struct mark *m = ctx;
    const struct flight *f = m->flight;
    const int64_t now = clock_wall_ms();
    const int64_t not_since = now - TRIES_MAX * f->refresher->config->platforms.timeout_ms - MARK_SLACK_MS;
    return store_begin_token_refresh(store, f->tokens.row, f->tokens.version, now, not_since, &m->ours);
}

static enum err unmark(struct store *store, void *ctx)
{
    const struct flight *f = ctx;
    return store_end_token_refresh(store, f->tokens.row, f->tokens.version);
}

/* A clear answer that is no pair. A mark that cannot be taken off only makes somebody wait. */
static void answered(struct flight *f)
{
    if (transaction_run(&f->refresher->scope, unmark, f))
        log_warn("the mark of a token refresh could not be taken off");
}

struct swap {
    const struct flight *flight;
    const struct token_grant *got;
    bool swapped;
};

/* The row is read again: its scopes stay where the answer says none, and somebody may have removed it. */
static enum err swap_pair(struct store *store, void *ctx)
{
    struct swap *swap = ctx;
    const struct flight *f = swap->flight;
    const struct token_refresher *r = f->refresher;
    const struct platform_desc *desc = platform_desc(f->tokens.api);
    const int64_t now = clock_wall_ms();
    struct token_grant grant = *swap->got;
    struct credential c;
    struct buf access, refresh;
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    buf_init(&access, SEAL_PLAIN_MAX + SEAL_OVERHEAD);
    buf_init(&refresh, SEAL_PLAIN_MAX + SEAL_OVERHEAD);
    enum err err = store_get_credential(store, &a, f->tokens.row, &c);
    c.version = f->tokens.version;
    if (!grant.refresh_token.len) {
        grant.refresh_token = f->tokens.grant.refresh_token;
        grant.refresh_expires_in_s = 0;
    }
    if (!err)
        err = tokens_seal(r->keys, &c, &grant, &access, &refresh);
    if (!err) {
        c.access_expires_at = token_expiry(desc, grant.expires_in_s, now);
        /* Nothing new said of the same token: what was known of it holds. */
        if (swap->got->refresh_token.len || grant.refresh_expires_in_s > 0)
            c.refresh_expires_at = refresh_token_expiry(grant.refresh_expires_in_s, now);
        c.scopes = grant.scopes.len && grant.scopes.len <= SCOPES_MAX ? grant.scopes : c.scopes;
        c.obtained_at = now;
        err = store_swap_tokens(store, &c, &swap->swapped);
    }
    buf_fini(&access);
    buf_fini(&refresh);
    arena_fini(&a);
    return err;
}

/* The only copy of the pair is in our hands: a database that is busy or full for a moment is asked again. */
static struct token_refresh_result save_pair(struct flight *f, const struct token_grant *got)
{
    struct swap swap = {.flight = f, .got = got};
    enum err err = OK;
    for (int i = 0; i < COMMIT_TRIES; i++) {
        err = transaction_run(&f->refresher->scope, swap_pair, &swap);
        if (!err || err == ERR_NOT_FOUND)
            break;
    }
    if (err == ERR_NOT_FOUND) /* the row, or the key to seal with */
        return seal_has_keys(f->refresher->keys) ? answer_of(TOKEN_ACCOUNT_REMOVED, STR("removed"))
                                                 : answer_failed(err);
    if (err) {
        log_error("refreshed tokens of account %.*s could not be kept: %s",
                  (int)f->tokens.grant.account_id.len, f->tokens.grant.account_id.p, err_name(err));
        return answer_failed(err);
    }
    return answer_of(TOKEN_REFRESHED, swap.swapped ? STR("ok") : STR("elsewhere"));
}

/* ---- sending and reading ---- */

static void on_answer(void *ctx, const struct http_result *result);

static void send_refresh(struct flight *f)
{
    struct token_refresher *r = f->refresher;
    const struct platform_desc *desc = platform_desc(f->tokens.api);
    const struct platform_options options = platform_options_of(r->config, desc->api);
    const struct platform_app app = platform_app_of(r->config, desc->api);
    struct http_request request = {.method = "POST"};
    arena_wipe(&f->arena);
    desc->build_refresh(&f->arena, &options, &app, &f->tokens.grant, &request);
    request.once = true;
    f->tries++;
    r->sender.send(r->sender.ctx, &request, on_answer, f);
}

/* Whether the platform may have taken the request and given out a new pair. */
static bool may_be_spent(enum transport_error error)
{
    switch (error) {
    case TRANSPORT_DNS:
    case TRANSPORT_CONNECT:
    case TRANSPORT_TLS:
    case TRANSPORT_REQUEST: return false;
    case TRANSPORT_OK:
    case TRANSPORT_TIMEOUT:
    case TRANSPORT_RESET:
    case TRANSPORT_TOO_LARGE:
    case TRANSPORT_PROTOCOL: break;
    }
    return true;
}

/* While the process stops, the mark in the database is enough: the next run sends the same pair again. A
 * second try here would outlast the time that service managers give a process to end. */
static void on_silence(struct flight *f, enum transport_error error)
{
    if (may_be_spent(error)) {
        f->unsure = true;
        if (f->tries < TRIES_MAX && transaction_heartbeat(&f->refresher->scope) == OK) {
            send_refresh(f);
            return;
        }
    } else if (!f->unsure) {
        answered(f); /* nothing went out */
    }
    const struct token_refresh_result a =
        answer_of(TOKEN_RETRY_LATER, str_from_cstr(transport_error_name(error)));
    land(f, &a);
}

static struct token_refresh_result refused(struct flight *f, const struct outcome *o, int status)
{
    struct token_refresh_result a = answer_of(TOKEN_RETRY_LATER, o->code);
    a.wait_ms = o->wait_ms;
    a.scope = o->scope;
    switch (o->verdict) {
    case V_RECONNECT:
    case V_TOKEN:
        /* It was good until a refresh went out whose answer we never had. */
        a = answer_of(TOKEN_RECONNECT, f->unsure ? STR("lost_in_refresh") : o->code);
        break;
    case V_OPERATOR:
    case V_BUG: a = answer_of(TOKEN_APP_REJECTED, o->code); break;
    case V_OK:
    case V_LATER:
    case V_QUOTA:
    case V_TIER:
    case V_SPLIT:
    case V_MALFORMED: break;
    }
    /* A server's error or a page that nobody can read may stand in place of the new pair. */
    if (status >= 400 && status < 500)
        answered(f);
    return a;
}

static struct token_refresh_result read_answer(struct flight *f, const struct http_response *response)
{
    const struct platform_desc *desc = platform_desc(f->tokens.api);
    struct token_grant got = {.expires_in_s = 0};
    const struct outcome o = desc->parse_refresh(&f->arena, response, &got);
    if (o.verdict != V_OK || !got.access_token.len)
        return refused(f, &o, response->status);
    if (got.account_id.p && !str_eq(got.account_id, f->tokens.grant.account_id)) {
        answered(f);
        return answer_of(TOKEN_RECONNECT, STR("other_account"));
    }
    return save_pair(f, &got);
}

static void on_answer(void *ctx, const struct http_result *result)
{
    struct flight *f = ctx;
    if (result->error != TRANSPORT_OK) {
        on_silence(f, result->error);
        return;
    }
    const struct token_refresh_result a = read_answer(f, &result->response);
    land(f, &a);
}

/* ---- asking ---- */

static void add_waiter(struct flight *f, token_done_fn *done, void *ctx)
{
    struct waiter *w = xcalloc(1, sizeof *w), **at = &f->waiters;
    *w = (struct waiter){.done = done, .ctx = ctx};
    while (*at)
        at = &(*at)->next;
    *at = w;
}

/* True: there is something to refresh with; else `*answer`. */
static bool can_refresh(struct token_refresher *r, const struct credential *c, int64_t version,
                        struct token_refresh_result *answer)
{
    const struct platform_desc *desc = platform_desc((enum platform_api)c->api);
    /* An Instagram token refreshes itself, and there is one sign of that: it wants to be of a certain age. */
    const bool refreshes_itself = desc->refresh_min_age_s > 0;
    if (c->version > version)
        *answer = answer_of(TOKEN_REFRESHED, STR("ok"));
    else if (desc->refresh_before_s < 0 || !desc->build_refresh)
        *answer = answer_of(TOKEN_RECONNECT, STR("no_refresh"));
    else if (!c->refresh_sealed.p && !refreshes_itself)
        *answer = answer_of(TOKEN_RECONNECT, STR("no_refresh_token"));
    else if (!platform_app_of(r->config, desc->api).client_id.len)
        *answer = answer_of(TOKEN_APP_REJECTED, STR("no_app"));
    else
        return true;
    return false;
}

static struct flight *flight_new(struct token_refresher *r, const struct credential *c, enum err *err)
{
    struct flight *f = xcalloc(1, sizeof *f);
    f->refresher = r;
    f->unsure = c->refresh_sent_at != TIME_NONE;
    arena_init(&f->arena, ARENA_BYTES);
    *err = tokens_open(r->keys, c, &f->tokens);
    if (!*err)
        return f;
    flight_free(f);
    return NULL;
}

static enum next start(struct token_refresher *r, const struct credential *c,
                       struct token_refresh_result *answer, token_done_fn *done, void *ctx)
{
    enum err err;
    struct flight *f = flight_new(r, c, &err);
    struct mark m = {.flight = f};
    if (f)
        err = transaction_run(&r->scope, mark, &m);
    if (err || !m.ours) {
        *answer = err ? answer_failed(err) : answer_of(TOKEN_RETRY_LATER, STR("elsewhere"));
        /* Spoilt in the database: nobody's but this account's affair, and signing in mends it. */
        if (!f && err == ERR_CORRUPT)
            *answer = answer_of(TOKEN_RECONNECT, STR("sealed"));
        if (f)
            flight_free(f);
        return NEXT_MORE;
    }
    add_waiter(f, done, ctx);
    f->next = r->flights;
    r->flights = f;
    r->in_flight++;
    send_refresh(f);
    return NEXT_WAIT;
}

enum next token_refresher_start(struct token_refresher *r, int64_t row, int64_t version,
                                struct token_refresh_result *answer, token_done_fn *done, void *ctx)
{
    struct arena a;
    struct credential c;
    enum next next = NEXT_MORE;
    for (struct flight *f = r->flights; f; f = f->next)
        if (f->tokens.row == row) {
            add_waiter(f, done, ctx);
            return NEXT_WAIT;
        }
    arena_init(&a, ARENA_BYTES);
    enum err err = store_get_credential(r->scope.store, &a, row, &c);
    if (err == ERR_NOT_FOUND)
        *answer = answer_of(TOKEN_ACCOUNT_REMOVED, STR("removed"));
    else if (err)
        *answer = answer_failed(err);
    else if (can_refresh(r, &c, version, answer))
        next = start(r, &c, answer, done, ctx);
    arena_fini(&a);
    return next;
}

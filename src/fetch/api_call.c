/* Makes a call: obtains a token, sends the request, parses the response. Tokens are in plain text only from
 * tokens_decrypt() until the request is sent; then the tokens and their copies in the request are wiped. */
#include "fetch/api_call.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "fetch/redact.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CALL_BLOCK = 32 * 1024, SAMPLE_BYTES = 2048 };

/* --- creating and freeing calls --- */

void api_calls_init(struct api_calls *calls)
{
    list_init(&calls->in_flight);
    list_init(&calls->spare);
}

static struct api_call *call_new(struct api_calls *calls)
{
    struct api_call *call;
    if (list_is_empty(&calls->spare)) {
        call = xcalloc(1, sizeof *call);
        list_init(&call->link);
        arena_init(&call->arena, CALL_BLOCK);
    } else {
        call = LIST_ENTRY(calls->spare.next, struct api_call, link);
        list_remove(&call->link);
    }
    const struct arena arena = call->arena;
    *call = (struct api_call){.calls = calls, .arena = arena};
    list_init(&call->link);
    list_add_last(&calls->in_flight, &call->link);
    calls->count++;
    return call;
}

void api_call_finish(struct api_call *call)
{
    struct fetch_account *account = call->account;
    CHECK(!call->http && !call->counted && !call->batch);
    tokens_wipe(&call->tokens);
    arena_reset(&call->arena);
    list_remove(&call->link);
    list_add_last(&call->calls->spare, &call->link);
    call->calls->count--;
    account->busy = false;
    fetch_account_update_ready(account);
    author_posts_release(account->group);
}

void api_calls_fini(struct api_calls *calls)
{
    CHECK(list_is_empty(&calls->in_flight));
    while (!list_is_empty(&calls->spare)) {
        struct api_call *call = LIST_ENTRY(calls->spare.next, struct api_call, link);
        list_remove(&call->link);
        arena_fini(&call->arena);
        free(call);
    }
}

/* --- handling the response --- */

/* Returns the beginning of a response body, without tokens. */
static struct str sample_of(struct api_call *call, struct str body)
{
    struct str sample = str_make(body.p, body.len < SAMPLE_BYTES ? body.len : SAMPLE_BYTES);
    char *text = arena_alloc(&call->arena, sample.len + 1);
    memcpy(text, sample.p, sample.len);
    redact(text, sample.len);
    return str_make(text, sample.len);
}

static void log_samples(struct api_call *call, const struct outcome *o, struct str body)
{
    struct throttle *t = call->account->api->throttle;
    if (o->kind == OUTCOME_MALFORMED && log_is_enabled(LOG_DEBUG)) {
        struct str sample = sample_of(call, body);
        log_debug("platforms: %s: malformed response: %.*s", t->desc->name, (int)sample.len, sample.p);
    }
    if (o->unknown_code.p && throttle_record_unknown_code(t, o->unknown_code)) {
        struct str sample = sample_of(call, body);
        log_warn("platforms: %s: undocumented error %.*s, treated as %s; please report it: %.*s",
                 t->desc->name, (int)o->unknown_code.len, o->unknown_code.p, outcome_kind_name(o->kind),
                 (int)sample.len, sample.p);
    }
}

static struct outcome outcome_of_transport(enum transport_error error)
{
    struct outcome o = {.kind = OUTCOME_RETRY, .code = str_from_cstr(transport_error_name(error))};
    if (error == TRANSPORT_TOO_LARGE || error == TRANSPORT_PROTOCOL)
        o.kind = OUTCOME_MALFORMED;
    else if (error == TRANSPORT_REQUEST)
        o.kind = OUTCOME_BAD_REQUEST;
    return o;
}

static void on_response(void *ctx, const struct http_result *http)
{
    struct api_call *call = ctx;
    const struct platform_desc *desc = call->account->api->throttle->desc;
    struct call_result result = {.kind = CALL_RESPONDED};
    call->http = NULL;
    if (http->error == TRANSPORT_OK) {
        result.outcome = desc->parse(&call->arena, &call->request, &http->response);
        log_samples(call, &result.outcome, http->response.body);
    } else {
        result.outcome = outcome_of_transport(http->error);
        log_debug("platforms: %s: %s", desc->name, http->why ? http->why : "no response");
    }
    call->calls->done(call->calls->ctx, call, &result);
}

/* --- building the request --- */

static void fill_items(struct api_call *call)
{
    const struct call_batch *batch = call->batch;
    struct platform_item *items = arena_alloc(&call->arena, batch->count * sizeof *items);
    size_t n = 0;
    for (const struct list *l = batch->posts.next; l != &batch->posts; l = l->next) {
        const struct pending_post *post = LIST_ENTRY((struct list *)(uintptr_t)l, struct pending_post, link);
        const bool resolved = batch->kind == CALL_READ && post->record.resolved_id.p;
        struct platform_item *item = &items[n++];
        *item = (struct platform_item){.id = resolved ? post->record.resolved_id : post->record.post_id,
                                       .posted_at = post->posted_at,
                                       .views_source = post->record.views_source};
        for (int k = 0; k < COUNT_KINDS; k++)
            item->counts[k] = COUNT_NONE;
    }
    CHECK(n == batch->count);
    call->request.items = items;
    call->request.item_count = n;
}

/* Since the batch was made, another call may have switched to a request form with fewer posts per call.
 * Returns the posts beyond this number to the account, because a request of this form cannot contain them. */
static void shorten_batch(struct api_call *call, int tier)
{
    struct fetch_account *account = call->account;
    size_t most = (size_t)throttle_ids_per_call(account->api->throttle, call->batch->kind, tier);
    if (call->batch->with_account && most > 1)
        most--; /* leave room for the account in a full batch */
    while (call->batch->count > most) {
        const size_t over = call->batch->count % most;
        const size_t keep = call->batch->count - (over ? over : most);
        fetch_account_retry(account, call_batch_split(call->batch, keep), 0);
    }
}

static void build_call(struct api_call *call)
{
    const struct fetch_account *a = call->account;
    const struct throttle *t = a->api->throttle;
    const struct call_batch *batch = call->batch;
    const int tier = call->tier < t->lowest_tier ? t->lowest_tier : call->tier;
    shorten_batch(call, tier);
    call->request = (struct platform_call){
        .kind = batch->kind,
        .options = &t->options,
        .account_id = a->account_id,
        .by_key = !a->row,
        .access_token = a->row ? call->tokens.grant.access_token : t->options.api_key,
        .tier = tier,
        .with_account = batch->with_account,
        .is_personal = a->is_personal,
        .combined = t->desc->combines && batch->kind == CALL_READ && !batch->uncombined &&
                    t->combined != COMBINED_FAILS,
        .dropped = str_from_cstr(batch->tier >= 0 ? batch->dropped : a->dropped_metrics),
        .now_ms = clock_wall_ms(),
    };
    fill_items(call);
}

/* Wipes the text if it contains the token. Any other text may be a constant, which must not be written to. */
static void wipe(struct str s, struct str token)
{
    if (s.p && token.len && memmem(s.p, s.len, token.p, token.len))
        explicit_bzero((char *)(uintptr_t)s.p, s.len);
}

static void wipe_request(const struct http_request *request, struct str token)
{
    wipe(request->path, token);
    wipe(request->body, token);
    for (size_t i = 0; i < request->header_count; i++)
        wipe(request->headers[i].value, token);
}

static void send_call(struct api_call *call)
{
    struct api_calls *calls = call->calls;
    const struct platform_desc *desc = call->account->api->throttle->desc;
    struct http_request request = {0};
    build_call(call);
    desc->build(&call->arena, &call->request, &request);
    run_count(calls->run, desc->platform, RUN_CALLS, 1);
    call->http = http_client_send(calls->http, &request, on_response, call);
    wipe_request(&request, call->request.access_token);
    call->request.access_token = (struct str){0};
    tokens_wipe(&call->tokens);
}

/* --- refreshing the token of a call --- */

static enum next finish_with(struct call_result *result, struct call_result value)
{
    *result = value;
    return NEXT_MORE;
}

static enum next decrypt_and_send(struct api_call *call, const struct credential *c,
                                  struct call_result *result)
{
    const enum err err = tokens_decrypt(call->calls->keys, c, &call->tokens);
    if (err) {
        log_error("platforms: cannot decrypt the tokens of account %" PRId64 ": %s", c->row, err_name(err));
        *result = (struct call_result){.kind = CALL_ACCOUNT_UNUSABLE};
        (void)text_copy(result->code, sizeof result->code, str_from_cstr(err_name(err)));
        return NEXT_MORE;
    }
    send_call(call);
    return NEXT_WAIT;
}

static enum next refresh_token(struct api_call *call, struct call_result *result);

/* Reads the account from the database, because another process may have refreshed the tokens, or the author
 * may have removed the account. Then sends the call, or first refreshes the token if that is due. */
static enum next load_and_send(struct api_call *call, struct call_result *result)
{
    struct fetch_account *account = call->account;
    struct credential c;
    const int64_t now = clock_wall_ms();
    if (!account->row) {
        send_call(call);
        return NEXT_WAIT;
    }
    const enum err err = store_get_credential(run_store(call->calls->run), &call->arena, account->row, &c);
    if (err && err != ERR_NOT_FOUND) {
        (void)run_fail_database(call->calls->run, err);
        return finish_with(result, (struct call_result){.kind = CALL_STORE_FAILED, .err = err});
    }
    if (err || c.state != CREDENTIAL_CONNECTED)
        return finish_with(result, (struct call_result){.kind = CALL_ACCOUNT_UNUSABLE});
    account->version = c.version;
    call->token_is_valid = c.access_expires_at == TIME_NONE || c.access_expires_at > now;
    if (!call->refresh_tried && token_refresh_is_due(account->api->throttle->desc, &c, now, false))
        return refresh_token(call, result);
    return decrypt_and_send(call, &c, result);
}

static enum next delay_call(struct api_call *call, const struct token_refresh_result *refresh,
                            struct call_result *result)
{
    /* A token that has not expired still works, unless the platform has rejected it. item_count is 0 until a
     * request is sent; if it is not 0, the token was rejected in the response. */
    if (call->request.item_count == 0 && call->token_is_valid)
        return load_and_send(call, result);
    *result = (struct call_result){
        .kind = CALL_DELAYED,
        .outcome = {.kind = OUTCOME_RETRY, .scope = SCOPE_ACCOUNT, .wait_ms = refresh->wait_ms}};
    result->outcome.code = arena_copy(&call->arena, str_from_cstr(refresh->code));
    return NEXT_MORE;
}

static enum next continue_with_tokens(struct api_call *call, const struct token_refresh_result *refresh,
                                      struct call_result *result)
{
    struct run *run = call->calls->run;
    const struct platform_desc *desc = call->account->api->throttle->desc;
    *result = (struct call_result){.kind = CALL_CANCELED};
    if (call->canceled)
        return NEXT_MORE;
    switch (refresh->status) {
    case TOKEN_REFRESHED:
        run_count(run, desc->platform, RUN_TOKENS, 1);
        call->refreshed = true;
        return load_and_send(call, result);
    case TOKEN_RETRY_LATER: return delay_call(call, refresh, result);
    case TOKEN_RECONNECT: result->kind = CALL_RECONNECT; break;
    case TOKEN_APP_REJECTED: result->kind = CALL_APP_REJECTED; break;
    case TOKEN_ACCOUNT_REMOVED: result->kind = CALL_ACCOUNT_UNUSABLE; return NEXT_MORE;
    case TOKEN_STORE_FAILED:
        result->kind = CALL_STORE_FAILED;
        result->err =
            run_fail(run, refresh->err, TOKEN_STORE_FAILED_TEXT, desc->name, err_name(refresh->err));
        return NEXT_MORE;
    }
    (void)text_copy(result->code, sizeof result->code, str_from_cstr(refresh->code));
    return NEXT_MORE;
}

static void on_tokens(void *ctx, const struct token_refresh_result *refresh)
{
    struct api_call *call = ctx;
    struct call_result result;
    if (continue_with_tokens(call, refresh, &result) == NEXT_MORE)
        call->calls->done(call->calls->ctx, call, &result);
}

static enum next refresh_token(struct api_call *call, struct call_result *result)
{
    struct token_refresh_result refresh;
    call->refresh_tried = true;
    tokens_wipe(&call->tokens);
    const enum next next = token_refresher_start(call->calls->refresher, call->account->row,
                                                 call->account->version, &refresh, on_tokens, call);
    return next == NEXT_WAIT ? NEXT_WAIT : continue_with_tokens(call, &refresh, result);
}

/* --- starting and canceling calls --- */

static void count_call(struct api_call *call)
{
    throttle_begin(call->account->api->throttle, call, call->tier, clock_mono_ms());
    call->counted = true;
}

enum next api_call_start(struct api_calls *calls, struct fetch_account *account, struct call_batch *batch,
                         struct call_result *result)
{
    struct throttle *t = account->api->throttle;
    struct api_call *call = call_new(calls);
    call->account = account;
    call->batch = batch;
    account->busy = account->row != 0;
    author_posts_acquire(account->group);
    fetch_account_update_ready(account);
    bucket_use(&account->bucket, t->pace.half_rate, clock_mono_ms());
    call->tier = throttle_select_tier(t, batch->tier >= 0 ? batch->tier : account->tier);
    count_call(call);
    const enum next next = load_and_send(call, result);
    result->call = call;
    return next;
}

enum next api_call_refresh_token(struct api_call *call, struct call_result *result)
{
    count_call(call);
    return refresh_token(call, result);
}

void api_calls_cancel(struct api_calls *calls)
{
    struct list *l = calls->in_flight.next;
    while (l != &calls->in_flight) {
        struct api_call *call = LIST_ENTRY(l, struct api_call, link);
        struct call_result result = {.kind = CALL_CANCELED};
        l = l->next;
        call->canceled = true;
        if (!call->http) /* the call waits for a token refresh, whose tokens must not be lost */
            continue;
        http_client_cancel(call->http);
        call->http = NULL;
        calls->done(calls->ctx, call, &result);
    }
}

/* One call on its way:
 *
 *   begin -> is the token fresh? --no--> refresh --> send -> answer -> verdict.c: end, or send again
 *                                \--yes-----------/
 *
 * A token is in the clear from its opening until the request is built. */
#include "fetch/engine.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "fetch/scrub.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FLIGHT_BLOCK = 32 * 1024, SAMPLE_BYTES = 2048 };

/* --- records --- */

static struct flight *flight_new(struct engine *e)
{
    struct flight *f;
    if (list_is_empty(&e->spare_flights)) {
        f = xcalloc(1, sizeof *f);
        list_init(&f->link);
        arena_init(&f->arena, FLIGHT_BLOCK);
    } else {
        f = LIST_ENTRY(e->spare_flights.next, struct flight, link);
        list_remove(&f->link);
    }
    const struct arena arena = f->arena;
    *f = (struct flight){.engine = e, .arena = arena};
    list_init(&f->link);
    list_add_last(&e->flights, &f->link);
    e->flight_count++;
    return f;
}

void flight_end(struct flight *f)
{
    struct engine *e = f->engine;
    struct account *account = f->account;
    struct part *part = account->part;
    CHECK(!f->fetching && !f->begun && !f->batch);
    tokens_close(&f->tokens);
    arena_reset(&f->arena);
    list_remove(&f->link);
    list_add_last(&e->spare_flights, &f->link);
    e->flight_count--;
    account->busy = false;
    account_settle_place(account);
    if (part && --part->flying == 0 && part->open == 0)
        part_free(e, part);
}

void flight_free_all(struct engine *e)
{
    CHECK(list_is_empty(&e->flights));
    while (!list_is_empty(&e->spare_flights)) {
        struct flight *f = LIST_ENTRY(e->spare_flights.next, struct flight, link);
        list_remove(&f->link);
        arena_fini(&f->arena);
        free(f);
    }
}

/* --- the answer --- */

/* Only what holds the token: other texts may be constants. */
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

/* The beginning of a body without what could be a token. */
static struct str sample_of(struct flight *f, struct str body)
{
    struct str sample = str_make(body.p, body.len < SAMPLE_BYTES ? body.len : SAMPLE_BYTES);
    char *text = arena_alloc(&f->arena, sample.len + 1);
    memcpy(text, sample.p, sample.len);
    scrub(text, sample.len);
    return str_make(text, sample.len);
}

static void log_samples(struct flight *f, const struct outcome *o, struct str body)
{
    struct gate *g = f->account->gate;
    if (o->verdict == V_MALFORMED && log_shows(LOG_DEBUG)) {
        struct str sample = sample_of(f, body);
        log_debug("platforms: %s: not as documented: %.*s", g->desc->name, (int)sample.len, sample.p);
    }
    if (o->unknown_code.p && gate_learn_code(g, o->unknown_code)) {
        struct str sample = sample_of(f, body);
        log_warn("platforms: %s: undocumented error %.*s, treated as %s; please report it: %.*s",
                 g->desc->name, (int)o->unknown_code.len, o->unknown_code.p, verdict_name(o->verdict),
                 (int)sample.len, sample.p);
    }
}

static struct outcome outcome_of_error(const struct http_result *result)
{
    struct outcome o = {.verdict = V_LATER, .code = str_from_cstr(transport_error_name(result->error))};
    if (result->error == TRANSPORT_TOO_LARGE || result->error == TRANSPORT_PROTOCOL)
        o.verdict = V_MALFORMED;
    else if (result->error == TRANSPORT_REQUEST)
        o.verdict = V_BUG;
    return o;
}

static void on_answer(void *ctx, const struct http_result *result)
{
    struct flight *f = ctx;
    struct engine *e = f->engine;
    const struct platform_desc *desc = f->account->gate->desc;
    struct outcome outcome;
    f->fetching = NULL;
    if (result->error == TRANSPORT_OK) {
        outcome = desc->parse(&f->arena, &f->call, &result->response);
        log_samples(f, &outcome, result->response.body);
    } else {
        outcome = outcome_of_error(result);
        log_debug("platforms: %s: %s", desc->name, result->why ? result->why : "no answer");
    }
    verdict_apply(f, outcome);
    engine_pump(e);
}

/* --- the request --- */

static void fill_items(struct flight *f)
{
    const struct batch *batch = f->batch;
    struct platform_item *items = arena_alloc(&f->arena, batch->count * sizeof *items);
    size_t n = 0;
    for (const struct list *l = batch->asks.next; l != &batch->asks; l = l->next) {
        const struct ask *ask = LIST_ENTRY((struct list *)(uintptr_t)l, struct ask, link);
        const bool resolved = batch->kind == CALL_READ && ask->known.resolved_id.p;
        struct platform_item *item = &items[n++];
        item->id = resolved ? ask->known.resolved_id : ask->known.post_id;
        item->posted_at = ask->posted_at;
        item->views_source = ask->known.views_source;
        for (int k = 0; k < COUNT_KINDS; k++)
            item->counts[k] = COUNT_NONE;
    }
    CHECK(n == batch->count);
    f->call.items = items;
    f->call.item_count = n;
}

/* Another call may have found out meanwhile that a form with fewer posts is to be used: what it does not ask
 * for must not look left out by the platform. */
static void shorten(struct flight *f, int tier)
{
    struct account *account = f->account;
    size_t most = (size_t)gate_ids_per_call(account->gate, f->batch->kind, tier);
    if (f->batch->with_account && most > 1)
        most--; /* room for the account in a full batch */
    while (f->batch->count > most) {
        const size_t over = f->batch->count % most;
        account_repeat(account, batch_cut(f->batch, f->batch->count - (over ? over : most)), 0);
    }
}

static void fill_call(struct flight *f)
{
    const struct account *a = f->account;
    const struct batch *batch = f->batch;
    const int tier = f->tier < a->gate->tier_least ? a->gate->tier_least : f->tier;
    shorten(f, tier);
    f->call = (struct platform_call){
        .kind = batch->kind,
        .options = &a->gate->options,
        .account_id = a->account_id,
        .by_key = !a->row,
        .access_token =
            a->row ? f->tokens.grant.access_token : str_from_cstr(f->engine->config->youtube.api_key),
        .tier = tier,
        .with_account = batch->with_account,
        .is_personal = a->is_personal,
        .combined = a->gate->desc->combines && batch->kind == CALL_READ && !batch->uncombined &&
                    a->gate->combined != COMBINED_FAILS,
        .dropped = str_from_cstr(batch->tier >= 0 ? batch->dropped : a->dropped_metrics),
        .now_ms = clock_wall_ms(),
    };
    fill_items(f);
}

static void send_call(struct flight *f)
{
    struct engine *e = f->engine;
    struct http_request request = {0};
    fill_call(f);
    f->account->gate->desc->build(&f->arena, &f->call, &request);
    run_count(e->run, f->account->gate->desc->platform, RUN_CALLS, 1);
    f->fetching = http_client_send(e->client, &request, on_answer, f);
    wipe_request(&request, f->call.access_token);
    f->call.access_token = (struct str){0};
    tokens_close(&f->tokens);
}

/* --- tokens --- */

/* It was not asked at all. */
static void give_up(struct flight *f)
{
    struct batch *batch = f->batch;
    f->batch = NULL;
    if (f->begun)
        gate_forget(f->account->gate);
    f->begun = false;
    if (batch)
        batch_give_up(f->engine, batch);
}

static void database_failed(struct flight *f, enum err err)
{
    engine_stop(f->engine, run_fail(f->engine->run, err, "the database says: %s", err_name(err)));
}

static void load_and_send(struct flight *f);

static void take_tokens(struct flight *f, const struct token_refresh_result *answer)
{
    struct engine *e = f->engine;
    struct account *account = f->account;
    if (f->cancelled) {
        give_up(f);
        flight_end(f);
        return;
    }
    switch (answer->result) {
    case TOKEN_REFRESHED:
        run_count(e->run, account->gate->desc->platform, RUN_TOKENS, 1);
        f->refreshed = true;
        load_and_send(f);
        return;
    case TOKEN_RETRY_LATER: {
        /* A token that is only soon too old is still one. */
        if (f->call.item_count == 0 && f->lives) {
            load_and_send(f);
            return;
        }
        struct outcome later = {.verdict = V_LATER, .scope = SCOPE_ACCOUNT, .wait_ms = answer->wait_ms};
        later.code = arena_copy(&f->arena, str_from_cstr(answer->code));
        verdict_later(f, later);
        return;
    }
    case TOKEN_RECONNECT:
        give_up(f);
        verdict_sign_in(e, account, answer->code);
        break;
    case TOKEN_APP_REJECTED:
        give_up(f);
        verdict_note_failed(e, account, verdict_name(V_OPERATOR), str_from_cstr(answer->code));
        verdict_operator(e, account->gate, answer->code);
        break;
    case TOKEN_ACCOUNT_REMOVED:
        give_up(f);
        account_give_up(e, account);
        break;
    case TOKEN_STORE_FAILED:
        give_up(f);
        engine_stop(e, run_fail(e->run, answer->err, "tokens of %s cannot be written: %s",
                                account->gate->desc->name, err_name(answer->err)));
        break;
    }
    flight_end(f);
}

static void on_tokens(void *ctx, const struct token_refresh_result *answer)
{
    struct flight *f = ctx;
    struct engine *e = f->engine;
    take_tokens(f, answer);
    engine_pump(e);
}

void flight_refresh(struct flight *f)
{
    struct token_refresh_result answer;
    f->refresh_tried = true;
    tokens_close(&f->tokens);
    const enum next next = token_refresher_start(f->engine->refresher, f->account->row, f->account->version,
                                                 &answer, on_tokens, f);
    if (next == NEXT_MORE)
        take_tokens(f, &answer);
}

/* The account as it is now: another process may have refreshed its tokens, its author may have removed it. */
static void load_and_send(struct flight *f)
{
    struct engine *e = f->engine;
    struct account *account = f->account;
    struct credential c;
    const int64_t now = clock_wall_ms();
    enum err err = account->row ? store_get_credential(e->store, &f->arena, account->row, &c) : OK;
    if (!err && account->row) {
        account->version = c.version;
        f->lives = c.access_expires_at == TIME_NONE || c.access_expires_at > now;
        if (c.state != CREDENTIAL_FINE)
            err = ERR_NOT_FOUND;
        else if (!f->refresh_tried && tokens_refresh_is_due(account->gate->desc, &c, now, false)) {
            flight_refresh(f);
            return;
        } else {
            err = tokens_open(e->keys, &c, &f->tokens);
            if (err) {
                log_error("platforms: the tokens of account %" PRId64 " do not open: %s", account->row,
                          err_name(err));
                verdict_note_failed(e, account, "sealed", str_from_cstr(err_name(err)));
                err = ERR_NOT_FOUND;
            }
        }
    }
    if (!err) {
        send_call(f);
        return;
    }
    give_up(f);
    if (err == ERR_NOT_FOUND)
        account_give_up(e, account);
    else
        database_failed(f, err);
    flight_end(f);
}

/* --- begin and end --- */

void flight_begin(struct engine *e, struct account *account, struct batch *batch)
{
    struct flight *f = flight_new(e);
    const int64_t now = clock_mono_ms();
    f->account = account;
    f->batch = batch;
    account->busy = account->row != 0;
    if (account->part)
        account->part->flying++;
    account_settle_place(account);
    bucket_take(&account->bucket, account->gate->pace.half, now);
    f->tier = gate_tier(account->gate, batch->tier >= 0 ? batch->tier : account->tier);
    gate_begin(account->gate, f->tier, now);
    f->begun = true;
    load_and_send(f);
}

void flight_cancel_all(struct engine *e)
{
    struct list *l = e->flights.next;
    while (l != &e->flights) {
        struct flight *f = LIST_ENTRY(l, struct flight, link);
        l = l->next;
        if (!f->fetching) { /* its token is being refreshed: that is waited for */
            f->cancelled = true;
            continue;
        }
        http_client_cancel(f->fetching);
        f->fetching = NULL;
        give_up(f);
        flight_end(f);
    }
}

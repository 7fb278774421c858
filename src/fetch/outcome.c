/* What an answer means: for each post of the call, then for the call, its account and its API. The table of
 * verdicts, one function each. */
#include "fetch/engine.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    SUSPECTS_LEAST = 3, /* so many accounts have to say so before it looks like our app */
    BUG_ACCOUNTS = 3,
    TIER_MS = 24 * 3600 * 1000,
    ACCOUNT_PAUSE_MS = 5 * 60 * 1000,
};

/* --- posts --- */

static void miss(struct flight *f, struct ask *ask, bool anomaly)
{
    struct engine *e = f->engine;
    struct part *part = ask->part;
    struct platform_post *known = &ask->known;
    if (!f->account->row) {
        /* Private ones only their owner can see: once, when it is new that it cannot be read. */
        if (part->account_count && (ask->read_at != TIME_NONE || !known->misses)) {
            ask->by_owner = true;
            ask_queue(&part->accounts[0], ask);
            return;
        }
    } else if (!known->credential_row && ++ask->accounts_tried < (int)part->account_count) {
        ask_queue(&part->accounts[ask->accounts_tried], ask);
        return;
    }
    if (!anomaly) {
        known->misses++;
        known->asked_at = clock_wall_ms();
        if (known->missed_since == TIME_NONE)
            known->missed_since = known->asked_at;
        note_post(e, known);
    }
    f->account->missing += part->account_count == 1;
    ask_settle(e, ask, SETTLED_MISSING);
}

static void read_ok(struct flight *f, struct ask *ask, const struct platform_item *item)
{
    struct platform_post *known = &ask->known;
    const bool several = ask->part->account_count > 1 || ask->by_owner;
    const int64_t row = f->account->row && several ? f->account->row : known->credential_row;
    const int source = item->views_source ? item->views_source : known->views_source;
    const bool changed = known->misses || known->views_source != source || known->credential_row != row;
    memcpy(ask->counts, item->counts, sizeof ask->counts);
    known->misses = 0;
    known->missed_since = TIME_NONE;
    known->views_source = source;
    known->credential_row = row;
    if (changed)
        note_post(f->engine, known);
    ask_settle(f->engine, ask, SETTLED_READ);
}

/* An answer to CALL_RESOLVE: from now on it is read by that id. */
static void resolved(struct flight *f, struct ask *ask, const struct platform_item *item)
{
    struct platform_post *known = &ask->known;
    known->misses = 0;
    known->missed_since = TIME_NONE;
    known->resolved_id = arena_copy(&ask->part->arena, item->resolved);
    note_post(f->engine, known);
    ask_queue(f->account, ask);
}

/* Not known yet: a post that its platform still looks at. One that stays so is asked for daily like one that
 * is missing. */
static void unresolved(struct flight *f, struct ask *ask)
{
    struct platform_post *known = &ask->known;
    known->misses++;
    known->asked_at = clock_wall_ms();
    if (known->missed_since == TIME_NONE)
        known->missed_since = known->asked_at;
    note_post(f->engine, known);
    ask_settle(f->engine, ask, SETTLED_NO_DATA);
}

static bool is_missing(const struct platform_item *item, bool ok)
{
    return item->state == ITEM_MISSING || (ok && item->state == ITEM_PENDING);
}

static void settle_item(struct flight *f, struct ask *ask, const struct platform_item *item, bool ok,
                        bool anomaly)
{
    const bool resolves = f->call.kind == CALL_RESOLVE;
    f->account->seen +=
        item->state == ITEM_OK || item->state == ITEM_NO_DATA || item->state == ITEM_PERMANENT;
    if (resolves && item->resolved.p && item->resolved.len)
        resolved(f, ask, item);
    else if (is_missing(item, ok))
        miss(f, ask, anomaly);
    else if (resolves && (item->state == ITEM_OK || item->state == ITEM_NO_DATA))
        unresolved(f, ask);
    else if (item->state == ITEM_OK)
        read_ok(f, ask, item);
    else if (item->state == ITEM_NO_DATA)
        ask_settle(f->engine, ask, SETTLED_NO_DATA);
    else if (item->state == ITEM_PERMANENT) {
        ask->known.is_permanent = true;
        note_post(f->engine, &ask->known);
        ask_settle(f->engine, ask, SETTLED_PERMANENT);
    } else {
        return; /* stays in the batch */
    }
    f->batch->count--;
}

/* All that one answer left out says more about the account than about the posts. */
static bool is_anomaly(const struct flight *f, bool ok)
{
    if (f->call.item_count < 2 || !f->account->row || f->call.kind == CALL_RESOLVE || f->call.with_account)
        return false; /* an account that answered beside its posts proves that they are gone */
    for (size_t i = 0; i < f->call.item_count; i++)
        if (!is_missing(&f->call.items[i], ok))
            return false;
    return true;
}

static void settle_items(struct flight *f, bool ok)
{
    struct engine *e = f->engine;
    struct list *asks = &f->batch->asks, *l = asks->next;
    const bool anomaly = is_anomaly(f, ok);
    f->account->seen += ok && f->call.with_account;
    if (anomaly)
        verdict_note_failed(e, f->account, "missing", STR("all"));
    for (size_t i = 0; i < f->call.item_count; i++) {
        struct ask *ask = LIST_ENTRY(l, struct ask, link);
        CHECK(l != asks);
        l = l->next;
        settle_item(f, ask, &f->call.items[i], ok, anomaly);
    }
}

/* --- accounts --- */

static void note_asked(struct account *account)
{
    if (!account->asked && account->row)
        account->gate->accounts_asked++;
    account->asked = true;
}

static void note_ok(struct engine *e, struct account *account)
{
    if (account->row && !account->noted_ok && !account->noted_failed) {
        account->noted_ok = true;
        note_account(e, &(struct note){.kind = NOTE_OK, .row = account->row, .at = clock_wall_ms()});
    }
}

void verdict_note_failed(struct engine *e, struct account *account, const char *what, struct str code)
{
    struct note note = {
        .kind = NOTE_FAILED, .row = account->row, .version = account->version, .at = clock_wall_ms()};
    if (!account->row || account->noted_failed)
        return;
    account->noted_failed = true;
    (void)snprintf(note.text, sizeof note.text, "%s %.*s", what, (int)code.len, code.p ? code.p : "");
    note_account(e, &note);
}

static void note_failed(struct flight *f, const struct outcome *o)
{
    verdict_note_failed(f->engine, f->account, verdict_name(o->verdict), o->code);
}

void verdict_suspect(struct engine *e, struct gate *g, int64_t row, int64_t version, const char *code)
{
    g->accounts_refused++;
    log_info("platforms: %s: account %" PRId64 " is refused (%s)", g->desc->name, row, code);
    if (e->suspect_count == SUSPECTS_MAX)
        verdict_mark(e);
    struct suspect *s = &e->suspects[e->suspect_count++];
    *s = (struct suspect){
        .api = g->api, .note = {.kind = NOTE_SIGN_IN, .row = row, .version = version, .at = clock_wall_ms()}};
    (void)snprintf(s->note.text, sizeof s->note.text, "%s %s", verdict_name(V_RECONNECT), code);
}

void verdict_sign_in(struct engine *e, struct account *account, const char *code)
{
    note_asked(account);
    account->noted_failed = true;
    verdict_suspect(e, account->gate, account->row, account->version, code);
    account_give_up(e, account);
}

/* When most of those that were asked are refused in one run it is not they. */
static bool is_our_app(const struct gate *g)
{
    return g->accounts_refused >= SUSPECTS_LEAST && 2 * g->accounts_refused > g->accounts_asked;
}

void verdict_mark(struct engine *e)
{
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const struct gate *g = &e->gates[api];
        if (e->suspended[api] || !is_our_app(g))
            continue;
        e->suspended[api] = true;
        log_error("platforms: %s refuses %" PRId64 " of the %" PRId64
                  " accounts that were asked: that looks like the app and not like them, so none is marked",
                  g->desc->name, g->accounts_refused, g->accounts_asked);
    }
    for (size_t i = 0; i < e->suspect_count; i++)
        if (!e->suspended[e->suspects[i].api])
            note_account(e, &e->suspects[i].note);
    e->suspect_count = 0;
}

void verdict_operator(struct engine *e, struct gate *g, const char *code)
{
    if (g->closed)
        return;
    log_error("platforms: %s refuses the app itself (%s): see its settings there and [%s] here; the accounts "
              "are left as they are",
              g->desc->name, code, platform_name(g->desc->platform).p);
    gate_close(e, g);
}

/* --- calls --- */

/* The flight's batch, which is no longer the flight's. */
static struct batch *take_batch(struct flight *f)
{
    struct batch *batch = f->batch;
    f->batch = NULL;
    return batch;
}

static void drop(struct flight *f)
{
    batch_give_up(f->engine, take_batch(f));
}

static int64_t wait_of(struct flight *f, const struct outcome *o)
{
    return o->wait_ms > 0 ? o->wait_ms : retry_delay_ms(f->batch->tries, engine_random(f->engine));
}

/* Whom the platform asked to wait. */
static void pause_scope(struct flight *f, const struct outcome *o, int64_t wait_ms)
{
    if (o->scope == SCOPE_APP)
        gate_pause(f->account->gate, wait_ms);
    else if (o->scope == SCOPE_ACCOUNT && f->account->not_before < clock_mono_ms() + wait_ms)
        f->account->not_before = clock_mono_ms() + wait_ms;
}

static void repeat_later(struct flight *f, const struct outcome *o)
{
    struct engine *e = f->engine;
    struct gate *g = f->account->gate;
    const int64_t now = clock_mono_ms(), wait_ms = wait_of(f, o);
    pause_scope(f, o, wait_ms);
    const bool for_nothing = now + wait_ms >= e->deadline;
    if (++f->batch->tries >= RETRY_TRIES || g->pace.retries >= g->pace.retries_max || for_nothing) {
        note_failed(f, o);
        drop(f);
        if (for_nothing && o->scope == SCOPE_ACCOUNT)
            account_give_up(e, f->account);
        return;
    }
    g->pace.retries++;
    run_count(e->run, g->desc->platform, RUN_RETRIES, 1);
    account_repeat(f->account, take_batch(f), now + wait_ms);
}

void verdict_later(struct flight *f, struct outcome outcome)
{
    if (f->begun)
        gate_forget(f->account->gate);
    f->begun = false;
    repeat_later(f, &outcome);
    flight_end(f);
}

/* Back into the queue in front, so that they are cut into calls anew. */
static void requeue(struct flight *f)
{
    struct batch *batch = take_batch(f);
    struct list *queue = &f->account->queue[batch->kind];
    while (!list_is_empty(&batch->asks)) {
        struct ask *ask = LIST_ENTRY(batch->asks.prev, struct ask, link);
        list_remove(&ask->link);
        list_add_last(queue->next, &ask->link);
    }
    batch_free(batch);
}

static void quota_refused(struct flight *f, const struct outcome *o)
{
    struct gate *g = f->account->gate;
    const int64_t wall = clock_wall_ms();
    const int64_t wait_ms = o->wait_ms > 0 ? o->wait_ms : quota_next_midnight(wall) - wall;
    log_warn("platforms: %s: its quota is spent (%.*s)", g->desc->name, (int)o->code.len,
             o->code.p ? o->code.p : "");
    if (o->scope == SCOPE_ACCOUNT) {
        pause_scope(f, o, wait_ms);
        note_failed(f, o);
        drop(f);
        account_give_up(f->engine, f->account);
        return;
    }
    if (gate_spend_quota(g, f->call.tier)) {
        log_info(
            "platforms: %s: another form of the request, with a quota of its own, is used until midnight in "
            "Los Angeles",
            g->desc->name);
        requeue(f);
        return;
    }
    gate_pause(g, wait_ms);
    drop(f);
}

static bool names(struct str list, struct str metric)
{
    struct str rest = list, item;
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        if (str_eq(item, metric))
            return true;
    }
    return false;
}

/* What the next try leaves out; false: nothing more than this one did. */
static bool drop_metric(const struct flight *f, const struct outcome *o, char *to, size_t size)
{
    const struct str had = f->call.dropped;
    if (!o->dropped.p || !o->dropped.len || names(had, o->dropped) || had.len + o->dropped.len + 2 > size)
        return false;
    (void)snprintf(to, size, "%.*s%s%.*s", (int)had.len, had.p ? had.p : "", had.len ? "," : "",
                   (int)o->dropped.len, o->dropped.p);
    return true;
}

/* The batch alone in another form, in pieces as large as that takes. */
static void repeat_in_form(struct flight *f, int tier)
{
    struct account *account = f->account;
    struct batch *batch = take_batch(f);
    const size_t most = (size_t)gate_ids_per_call(account->gate, batch->kind, tier);
    batch->tier = tier;
    while (batch->count > most) {
        struct batch *piece = batch_cut(batch, batch->count / 2);
        while (piece->count > most) {
            struct ask *ask = LIST_ENTRY(piece->asks.next, struct ask, link);
            batch_add(batch, ask);
            piece->count--;
        }
        account_repeat(account, piece, 0);
    }
    account_repeat(account, batch, 0);
}

static void other_form(struct flight *f, const struct outcome *o)
{
    struct engine *e = f->engine;
    struct account *account = f->account;
    struct gate *g = account->gate;
    struct note note = {.kind = NOTE_TIER, .row = account->row, .at = clock_wall_ms() + TIER_MS};
    const bool drops = drop_metric(f, o, note.text, sizeof note.text);
    if (o->with_account || o->combined == COMBINED_FAILS) {
        f->batch->with_account = f->batch->with_account || o->with_account;
        f->batch->uncombined = f->batch->uncombined || o->combined == COMBINED_FAILS;
        account_repeat(account, take_batch(f), 0);
        return;
    }
    note.tier = f->call.tier + (drops ? 0 : 1);
    if (note.tier >= g->desc->tiers) {
        note_failed(f, o);
        drop(f);
        return;
    }
    if (!drops)
        (void)str_put(note.text, sizeof note.text, STR(""));
    if (o->of_the_posts) {
        memcpy(f->batch->dropped, note.text, sizeof f->batch->dropped);
        repeat_in_form(f, note.tier);
        return;
    }
    if (o->scope == SCOPE_APP || !account->row)
        gate_raise_tier(g, note.tier, true);
    account->tier = note.tier;
    memcpy(account->dropped_metrics, note.text, sizeof account->dropped_metrics);
    if (account->row && o->scope != SCOPE_APP)
        note_account(e, &note);
    requeue(f);
}

/* `missing`: a call that is refused for a single post says that this post is gone. */
static void split(struct flight *f, bool missing)
{
    struct batch *batch = take_batch(f);
    if (batch->count > 1) {
        account_repeat(f->account, batch_cut(batch, batch->count / 2), 0);
        account_repeat(f->account, batch, 0);
        return;
    }
    if (missing) {
        struct ask *ask = LIST_ENTRY(batch->asks.next, struct ask, link);
        f->batch = batch;
        miss(f, ask, false);
        f->batch = NULL;
        batch->count = 0;
    }
    batch_give_up(f->engine, batch);
}

/* The platform says that our request is wrong. One post with an id that is none must not stop all others, so
 * it is looked for; when several accounts in a row say so, the form of the request is given up. */
static void our_fault(struct flight *f, const struct outcome *o)
{
    struct engine *e = f->engine;
    struct gate *g = f->account->gate;
    if (!g->bugs || g->bug_row != f->account->row) {
        g->bugs++;
        g->bug_row = f->account->row;
        log_error("platforms: %s calls our request wrong (%.*s)", g->desc->name, (int)o->code.len,
                  o->code.p ? o->code.p : "");
    }
    note_failed(f, o);
    const bool proven = g->bugs >= BUG_ACCOUNTS;
    if (!proven && f->batch->count > 1) {
        split(f, false);
        return;
    }
    drop(f);
    if (!proven)
        return;
    g->bugs = 0;
    log_error("platforms: %s: this form of the request is not used any more", g->desc->name);
    if (f->call.tier + 1 < g->desc->tiers)
        gate_raise_tier(g, f->call.tier + 1, false);
    else
        gate_close(e, g);
}

/* True: the flight goes on with another token. */
static bool token_refused(struct flight *f, const struct outcome *o)
{
    char code[CODE_MAX];
    (void)str_put(code, sizeof code, o->code);
    if (!f->account->row) {
        drop(f);
        verdict_operator(f->engine, f->account->gate, code);
        return false;
    }
    if (!f->refreshed && o->verdict == V_TOKEN) {
        gate_begin(f->account->gate, f->tier, clock_mono_ms());
        f->begun = true;
        flight_refresh(f);
        return true;
    }
    drop(f);
    verdict_sign_in(f->engine, f->account, code);
    return false;
}

static void usage(struct flight *f, const struct outcome *o)
{
    struct gate *g = f->account->gate;
    if (o->usage_percent > 0)
        g->pace.half = o->usage_percent >= USAGE_HALF;
    if (o->usage_percent < USAGE_PAUSE || o->verdict == V_LATER || o->verdict == V_QUOTA)
        return;
    const struct outcome pause = {.scope = o->scope == SCOPE_APP ? SCOPE_APP : SCOPE_ACCOUNT};
    pause_scope(f, &pause, o->wait_ms > 0 ? o->wait_ms : ACCOUNT_PAUSE_MS);
}

/* A refused request of both kinds shows something only if the same request of one kind succeeds. Until then
 * no other call tries both. */
static void learn_combined(struct flight *f, const struct outcome *o)
{
    struct gate *g = f->account->gate;
    const bool ok = o->verdict == V_OK;
    if (f->call.combined && !ok && o->combined == COMBINED_FAILS)
        g->combined = g->combined == COMBINED_UNKNOWN ? COMBINED_FAILS : g->combined;
    else if (f->call.combined)
        gate_learn_combined(g, o->combined);
    else if (f->batch->uncombined)
        gate_learn_combined(g, ok ? COMBINED_FAILS : COMBINED_UNKNOWN);
}

/* What is left of the batch, by verdict. True: the flight goes on. */
static bool settle_call(struct flight *f, const struct outcome *o)
{
    char code[CODE_MAX];
    switch (o->verdict) {
    case V_OK: /* the rest are items to be tried again */
    case V_LATER:
    case V_MALFORMED: repeat_later(f, o); break;
    case V_QUOTA: quota_refused(f, o); break;
    case V_TOKEN:
    case V_RECONNECT: return token_refused(f, o);
    case V_OPERATOR:
        (void)str_put(code, sizeof code, o->code);
        note_failed(f, o);
        drop(f);
        verdict_operator(f->engine, f->account->gate, code);
        break;
    case V_TIER: other_form(f, o); break;
    case V_SPLIT: split(f, !o->too_large); break;
    case V_BUG: our_fault(f, o); break;
    }
    return false;
}

void verdict_apply(struct flight *f, struct outcome outcome)
{
    struct engine *e = f->engine;
    struct gate *g = f->account->gate;
    const bool ok = outcome.verdict == V_OK;
    run_count(e->run, g->desc->platform, (enum run_counter)(RUN_VERDICT + (int)outcome.verdict), 1);
    gate_end(g, outcome.verdict != V_LATER && outcome.verdict != V_MALFORMED);
    f->begun = false;
    note_asked(f->account);
    usage(f, &outcome);
    learn_combined(f, &outcome);
    settle_items(f, ok);
    if (ok)
        g->bugs = 0;
    if (ok && outcome.no_insights)
        verdict_note_failed(e, f->account, "insights", STR("none"));
    else if (ok)
        note_ok(e, f->account);
    const bool of_all =
        outcome.verdict == V_RECONNECT || outcome.verdict == V_OPERATOR || outcome.verdict == V_QUOTA;
    if (f->batch->count == 0 && !of_all)
        batch_free(take_batch(f));
    else if (settle_call(f, &outcome))
        return;
    flight_end(f);
}

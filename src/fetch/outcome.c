/* Applies the results of calls: one function per outcome (enum outcome_kind of platforms/platform.h). */
#include "fetch/outcome.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "fetch/post_outcome.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    BAD_REQUEST_ACCOUNTS = 3,         /* this many consecutive accounts prove that our request is wrong */
    ACCOUNT_PAUSE_MS = 5 * 60 * 1000, /* pause if the platform requests no wait */
    USAGE_HALF_PERCENT = 80,          /* if this share of the rate limit is used, continue at half the rate */
    USAGE_PAUSE_PERCENT = 95          /* if this share is used, pause */
};

/* splitmix64 */
static uint64_t next_random(struct outcome_handler *h)
{
    uint64_t z = h->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static struct throttle *throttle_of(const struct api_call *call)
{
    return call->account->api->throttle;
}

static struct call_batch *detach_batch(struct api_call *call)
{
    struct call_batch *batch = call->batch;
    call->batch = NULL;
    return batch;
}

static void abandon_batch(struct api_call *call)
{
    call_batch_abandon(detach_batch(call));
}

static void record_failure(struct outcome_handler *h, struct api_call *call, const struct outcome *o)
{
    fetch_account_record_failure(call->account, h->writes, outcome_kind_name(o->kind), o->code);
}

/* --- pauses and retries --- */

static void pause_scope(struct api_call *call, enum outcome_scope scope, int64_t wait_ms)
{
    const int64_t until = clock_mono_ms() + wait_ms;
    if (scope == SCOPE_APP)
        throttle_pause(throttle_of(call), wait_ms);
    else if (scope == SCOPE_ACCOUNT && call->account->not_before < until)
        call->account->not_before = until;
}

static void retry_later(struct outcome_handler *h, struct api_call *call, const struct outcome *o)
{
    struct throttle *t = throttle_of(call);
    const int64_t wait_ms = o->wait_ms > 0 ? o->wait_ms : retry_delay_ms(call->batch->tries, next_random(h));
    const int64_t at = clock_mono_ms() + wait_ms;
    const bool too_late = at >= h->deadline;
    pause_scope(call, o->scope, wait_ms);
    if (++call->batch->tries >= RETRY_TRIES || t->pace.retries >= t->pace.retries_max || too_late) {
        record_failure(h, call, o);
        abandon_batch(call);
        if (too_late && o->scope == SCOPE_ACCOUNT)
            fetch_account_abandon(call->account);
        return;
    }
    t->pace.retries++;
    run_count(h->run, t->desc->platform, RUN_RETRIES, 1);
    fetch_account_retry(call->account, detach_batch(call), at);
}

/* --- spent quotas --- */

static void handle_quota(struct outcome_handler *h, struct api_call *call, const struct outcome *o)
{
    struct throttle *t = throttle_of(call);
    const int64_t now = clock_wall_ms();
    const int64_t wait_ms = o->wait_ms > 0 ? o->wait_ms : quota_next_midnight(now) - now;
    log_warn("platforms: %s: quota spent (%.*s)", t->desc->name, (int)o->code.len,
             o->code.p ? o->code.p : "");
    if (o->scope == SCOPE_ACCOUNT) {
        pause_scope(call, o->scope, wait_ms);
        record_failure(h, call, o);
        abandon_batch(call);
        fetch_account_abandon(call->account);
        return;
    }
    if (throttle_spend_quota(t, call->request.tier)) {
        log_info("platforms: %s: using another request form, with a quota of its own, until midnight in Los "
                 "Angeles",
                 t->desc->name);
        fetch_account_requeue(call->account, detach_batch(call));
        return;
    }
    throttle_pause(t, wait_ms);
    abandon_batch(call);
}

/* --- other request forms --- */

static bool list_contains(struct str list, struct str metric)
{
    struct str rest = list, item;
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        if (str_eq(item, metric))
            return true;
    }
    return false;
}

/* Sets `to` to the metrics that the next attempt omits: those that this attempt omitted, and the metric that
 * the outcome names. Returns false, without setting `to`, if the outcome names no further metric or the list
 * would be too long. */
static bool add_dropped_metric(const struct api_call *call, const struct outcome *o, char to[METRIC_LIST_MAX])
{
    const struct str before = call->request.dropped;
    if (!o->dropped.len || list_contains(before, o->dropped) ||
        before.len + o->dropped.len + 2 > METRIC_LIST_MAX)
        return false;
    (void)snprintf(to, METRIC_LIST_MAX, "%.*s%s%.*s", (int)before.len, before.p ? before.p : "",
                   before.len ? "," : "", (int)o->dropped.len, o->dropped.p);
    return true;
}

/* Retries only this batch in another form, and divides it as the form requires. */
static void retry_in_form(struct api_call *call, int tier)
{
    struct fetch_account *account = call->account;
    struct call_batch *batch = detach_batch(call);
    const size_t most = (size_t)throttle_ids_per_call(account->api->throttle, batch->kind, tier);
    batch->tier = tier;
    while (batch->count > most) {
        struct call_batch *piece = call_batch_split(batch, batch->count / 2);
        while (piece->count > most) {
            call_batch_add(batch, LIST_ENTRY(piece->posts.next, struct pending_post, link));
            piece->count--;
        }
        fetch_account_retry(account, piece, 0);
    }
    fetch_account_retry(account, batch, 0);
}

/* Records for a day that the account, or the app, needs the form in `update`. */
static void change_form_of_account(struct outcome_handler *h, struct api_call *call, const struct outcome *o,
                                   const struct account_update *update)
{
    struct fetch_account *account = call->account;
    if (o->scope == SCOPE_APP || !account->row)
        throttle_raise_tier(throttle_of(call), update->tier, true);
    else
        pending_writes_add_account(h->writes, update);
    account->tier = update->tier;
    memcpy(account->dropped_metrics, update->text, sizeof account->dropped_metrics);
    fetch_account_requeue(account, detach_batch(call));
}

static void handle_other_form(struct outcome_handler *h, struct api_call *call, const struct outcome *o)
{
    struct account_update update = {
        .kind = ACCOUNT_TIER, .row = call->account->row, .at = clock_wall_ms() + DAY_MS};
    if (o->with_account || o->combined == COMBINED_FAILS) {
        call->batch->with_account = call->batch->with_account || o->with_account;
        call->batch->uncombined = call->batch->uncombined || o->combined == COMBINED_FAILS;
        fetch_account_retry(call->account, detach_batch(call), 0);
        return;
    }
    const bool drops = add_dropped_metric(call, o, update.text);
    update.tier = call->request.tier + (drops ? 0 : 1);
    if (update.tier >= throttle_of(call)->desc->tiers) {
        record_failure(h, call, o);
        abandon_batch(call);
    } else if (o->these_posts_only) {
        memcpy(call->batch->dropped, update.text, sizeof call->batch->dropped);
        retry_in_form(call, update.tier);
    } else {
        change_form_of_account(h, call, o, &update);
    }
}

/* --- rejected requests --- */

/* Retries the two halves of the batch separately. If the batch has only one post, abandons the post; with
 * `missing`, treats it as missing on the platform. */
static void split_batch(struct outcome_handler *h, struct api_call *call, bool missing)
{
    struct call_batch *batch = call->batch;
    if (batch->count > 1) {
        batch = detach_batch(call);
        fetch_account_retry(call->account, call_batch_split(batch, batch->count / 2), 0);
        fetch_account_retry(call->account, batch, 0);
        return;
    }
    if (missing) {
        post_set_missing(call, h->writes, LIST_ENTRY(batch->posts.next, struct pending_post, link), true);
        batch->count = 0;
    }
    abandon_batch(call);
}

/* Handles a response that reports an error in our request. The cause may be a single post with an invalid id,
 * so the batch is split to find this post. If several accounts in a row get this outcome, this request form
 * is not used again in this run; if it is the last form, the API is not called again. With the API key, all
 * calls use one account, so calls with a single post are counted instead of accounts. */
static void handle_bad_request(struct outcome_handler *h, struct api_call *call, const struct outcome *o)
{
    struct throttle *t = throttle_of(call);
    int *accounts = &h->bad_requests[t->api].accounts;
    int64_t *last_row = &h->bad_requests[t->api].last_row;
    const int64_t row = call->account->row;
    if (row ? !*accounts || *last_row != row : call->batch->count == 1) {
        ++*accounts;
        *last_row = row;
        log_error("platforms: %s rejects our request as invalid (%.*s); please report this", t->desc->name,
                  (int)o->code.len, o->code.p ? o->code.p : "");
    }
    record_failure(h, call, o);
    const bool proven = *accounts >= BAD_REQUEST_ACCOUNTS;
    if (!proven && call->batch->count > 1) {
        split_batch(h, call, false);
        return;
    }
    abandon_batch(call);
    if (!proven)
        return;
    *accounts = 0;
    const bool has_other_form = call->request.tier + 1 < t->desc->tiers;
    log_error("platforms: %s: request form %d is not used again in this run%s", t->desc->name,
              call->request.tier, has_other_form ? "" : "; no form is left, so the API is not called again");
    if (has_other_form)
        throttle_raise_tier(t, call->request.tier + 1, false);
    else
        api_queue_close(call->account->api);
}

/* --- rejected tokens and apps --- */

static void handle_app_rejected(struct outcome_handler *h, struct api_call *call, struct str code)
{
    char text[ERROR_CODE_MAX];
    (void)text_copy(text, sizeof text, code);
    fetch_account_record_failure(call->account, h->writes, outcome_kind_name(OUTCOME_APP_REJECTED), code);
    abandon_batch(call);
    api_queue_reject_app(call->account->api, text);
}

static enum call_next handle_token_rejected(struct outcome_handler *h, struct api_call *call,
                                            const struct outcome *o)
{
    char code[ERROR_CODE_MAX];
    (void)text_copy(code, sizeof code, o->code);
    if (!call->account->row) {
        abandon_batch(call);
        api_queue_reject_app(call->account->api, code);
        return CALL_FINISH;
    }
    if (!call->refreshed && o->kind == OUTCOME_TOKEN_REJECTED) {
        if (!throttle_of(call)->breaker.until)
            return CALL_REFRESH_TOKEN;
        /* The circuit opened while the call was in flight, so no request may follow now. */
        fetch_account_requeue(call->account, detach_batch(call));
        return CALL_FINISH;
    }
    abandon_batch(call);
    rejections_add_account(h->rejections, call->account, code);
    return CALL_FINISH;
}

/* --- limits that the platform reports --- */

static void apply_usage(struct api_call *call, const struct outcome *o)
{
    if (o->usage_percent > 0)
        throttle_of(call)->pace.half_rate = o->usage_percent >= USAGE_HALF_PERCENT;
    if (o->usage_percent < USAGE_PAUSE_PERCENT || o->kind == OUTCOME_RETRY || o->kind == OUTCOME_QUOTA_SPENT)
        return;
    pause_scope(call, o->scope == SCOPE_APP ? SCOPE_APP : SCOPE_ACCOUNT,
                o->wait_ms > 0 ? o->wait_ms : ACCOUNT_PAUSE_MS);
}

/* If a call with combined metrics is rejected, the combination is the cause only if the same call without
 * combined metrics succeeds. Until this is known, no other call combines metrics, unless an earlier call has
 * shown that combining works. */
static void apply_combined(struct api_call *call, const struct outcome *o)
{
    struct throttle *t = throttle_of(call);
    const bool ok = o->kind == OUTCOME_OK;
    if (call->request.combined && !ok && o->combined == COMBINED_FAILS)
        t->combined = t->combined == COMBINED_UNKNOWN ? COMBINED_FAILS : t->combined;
    else if (call->request.combined)
        throttle_set_metrics_combined(t, o->combined);
    else if (call->batch->uncombined)
        throttle_set_metrics_combined(t, ok ? COMBINED_FAILS : COMBINED_UNKNOWN);
}

/* --- handling a response --- */

/* Retries the posts that failed temporarily in a call that succeeded for other posts. */
static void retry_rest(struct outcome_handler *h, struct api_call *call, const struct outcome *o)
{
    const struct outcome rest = {
        .kind = OUTCOME_RETRY, .scope = SCOPE_CALL, .wait_ms = o->wait_ms, .code = STR("posts")};
    retry_later(h, call, &rest);
}

/* Decides what happens to the posts that have no result after the response. */
static enum call_next apply_to_batch(struct outcome_handler *h, struct api_call *call,
                                     const struct outcome *o)
{
    switch (o->kind) {
    case OUTCOME_OK: retry_rest(h, call, o); break;
    case OUTCOME_RETRY:
    case OUTCOME_MALFORMED: retry_later(h, call, o); break;
    case OUTCOME_QUOTA_SPENT: handle_quota(h, call, o); break;
    case OUTCOME_TOKEN_REJECTED:
    case OUTCOME_RECONNECT: return handle_token_rejected(h, call, o);
    case OUTCOME_APP_REJECTED: handle_app_rejected(h, call, o->code); break;
    case OUTCOME_OTHER_FORM: handle_other_form(h, call, o); break;
    case OUTCOME_SPLIT: split_batch(h, call, !o->too_large); break;
    case OUTCOME_BAD_REQUEST: handle_bad_request(h, call, o); break;
    }
    return CALL_FINISH;
}

static enum call_next apply_response(struct outcome_handler *h, struct api_call *call,
                                     const struct outcome *o)
{
    struct throttle *t = throttle_of(call);
    const bool ok = o->kind == OUTCOME_OK;
    run_count(h->run, t->desc->platform, (enum run_counter)(RUN_OUTCOME + (int)o->kind), 1);
    throttle_end(t, call, o->kind != OUTCOME_RETRY && o->kind != OUTCOME_MALFORMED);
    call->counted = false;
    if (ok)
        throttle_record_success(t);
    rejections_record_use(h->rejections, t->api, call->account->row);
    apply_usage(call, o);
    apply_combined(call, o);
    post_outcomes_apply(call, h->writes, ok);
    if (ok)
        h->bad_requests[t->api].accounts = 0;
    if (ok && o->no_insights)
        fetch_account_record_failure(call->account, h->writes, "insights", STR("none"));
    else if (ok)
        fetch_account_record_success(call->account, h->writes);
    /* These outcomes concern the account or the app even if the response gave every post a result. */
    const bool beyond_posts =
        o->kind == OUTCOME_RECONNECT || o->kind == OUTCOME_APP_REJECTED || o->kind == OUTCOME_QUOTA_SPENT;
    if (call->batch->count > 0 || beyond_posts)
        return apply_to_batch(h, call, o);
    call_batch_free(detach_batch(call));
    return CALL_FINISH;
}

/* --- calls that were not sent --- */

static void apply_unsent(struct outcome_handler *h, struct api_call *call, const struct call_result *result)
{
    const struct str code = str_from_cstr(result->code);
    switch (result->kind) {
    case CALL_RECONNECT:
        abandon_batch(call);
        rejections_add_account(h->rejections, call->account, result->code);
        break;
    case CALL_APP_REJECTED: handle_app_rejected(h, call, code); break;
    case CALL_ACCOUNT_UNUSABLE:
        if (code.len)
            fetch_account_record_failure(call->account, h->writes, "sealed", code);
        abandon_batch(call);
        fetch_account_abandon(call->account);
        break;
    case CALL_DELAYED: retry_later(h, call, &result->outcome); break;
    case CALL_CANCELED:
    case CALL_STORE_FAILED:
    case CALL_RESPONDED: abandon_batch(call); break;
    }
}

enum call_next outcome_apply(struct outcome_handler *h, struct api_call *call,
                             const struct call_result *result)
{
    if (result->kind == CALL_RESPONDED)
        return apply_response(h, call, &result->outcome);
    if (call->counted)
        throttle_cancel(throttle_of(call), call);
    call->counted = false;
    apply_unsent(h, call, result);
    return CALL_FINISH;
}

/* Combines all limits of an API. */
#include "fetch/throttle.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>

enum { COMBINED_CHECKS_MAX = 3 };

int throttle_quota_count(const struct throttle *t)
{
    return t->desc->quota_by_tier ? t->desc->tiers : 1;
}

static void init_limits(struct throttle *t, const struct config *c)
{
    const int64_t now = clock_mono_ms(), wall = clock_wall_ms();
    const struct platform_call_limits limits = platform_call_limits_of(c, t->api);
    t->account_per_minute = (int)limits.account_per_minute;
    t->pace.in_flight_max = (int)limits.in_flight;
    t->lowest_tier = limits.bulk == BULK_OFF ? 1 : 0;
    bucket_init(&t->pace.bucket, (int)limits.app_per_minute, t->desc->app_rate.burst, now);
    CHECK(throttle_quota_count(t) <= THROTTLE_QUOTAS);
    for (int tier = 0; tier < THROTTLE_QUOTAS; tier++)
        quota_init(&t->quotas[tier], limits.units_per_day, limits.reserve_percent, wall);
}

void throttle_init(struct throttle *t, const struct config *config, enum platform_api api)
{
    *t = (struct throttle){.api = api, .desc = platform_desc(api), .combined_until = TIME_NONE};
    t->options = platform_options_of(config, api);
    t->has_app = platform_is_configured(config, api);
    t->configured = t->has_app || t->options.by_key;
    init_limits(t, config);
}

/* --- quotas of the API --- */

static struct quota *quota_of(struct throttle *t, int tier)
{
    return &t->quotas[t->desc->quota_by_tier ? tier : 0];
}

int throttle_select_tier(const struct throttle *t, int wanted)
{
    const int64_t wall = clock_wall_ms();
    const int tier = wanted < t->lowest_tier ? t->lowest_tier : wanted;
    if (!t->desc->quota_by_tier || !quota_is_spent(&t->quotas[tier], wall))
        return tier;
    for (int other = t->lowest_tier; other < t->desc->tiers; other++)
        if (!quota_is_spent(&t->quotas[other], wall))
            return other;
    return tier;
}

const struct quota *throttle_quota_in_use(const struct throttle *t)
{
    return &t->quotas[t->desc->quota_by_tier ? throttle_select_tier(t, t->lowest_tier) : 0];
}

bool throttle_spend_quota(struct throttle *t, int tier)
{
    const int64_t wall = clock_wall_ms();
    quota_mark_spent(quota_of(t, tier));
    t->unsaved = true;
    const struct quota *next = throttle_quota_in_use(t);
    if (!next->units || quota_is_spent(next, wall))
        return false;
    t->share = t->begun + quota_share(next, wall, HOUR_MS);
    return true;
}

int64_t throttle_capacity(const struct throttle *t, int64_t deadline_s)
{
    const int64_t per_minute = t->pace.bucket.per_minute, by_rate = per_minute * deadline_s / 60;
    return per_minute && by_rate < t->share ? by_rate : t->share;
}

/* --- whether a call may begin --- */

int throttle_ids_per_call(const struct throttle *t, enum call_kind kind, int tier)
{
    /* Batches at graph.instagram.com, if enabled, have the same size as batches at graph.facebook.com. */
    const bool batches = t->api == API_INSTAGRAM && t->options.batch;
    const struct platform_desc *desc = batches ? platform_desc(API_INSTAGRAM_FACEBOOK) : t->desc;
    int n = desc->ids_per_call[tier < t->lowest_tier ? t->lowest_tier : tier];
    if (kind == CALL_RESOLVE)
        n = t->desc->ids_per_resolve;
    else if (t->options.ids_per_call)
        n = t->options.ids_per_call;
    if (n < 1)
        return 1;
    return n < CALL_IDS_MAX ? n : CALL_IDS_MAX;
}

int64_t throttle_ready_at(const struct throttle *t, int64_t now)
{
    const int64_t wall = clock_wall_ms();
    int64_t at = pace_ready_at(&t->pace, now);
    if (at == PACE_NEVER)
        return PACE_NEVER;
    if (t->desc->combines && t->combined == COMBINED_UNKNOWN && t->pace.in_flight)
        return PACE_NEVER;
    const int64_t breaker = breaker_ready_at(&t->breaker, wall);
    if (breaker == INT64_MAX)
        return PACE_NEVER;
    if (now + (breaker - wall) > at)
        at = now + (breaker - wall);
    const struct quota *quota = throttle_quota_in_use(t);
    const bool spent = quota_left(quota, wall) <= 0 || t->begun >= t->share;
    if (spent && now + (quota->resets_at - wall) > at)
        at = now + (quota->resets_at - wall);
    return at;
}

void throttle_begin(struct throttle *t, const void *call, int tier, int64_t now)
{
    const int64_t wall = clock_wall_ms();
    for (int i = 0; i < throttle_quota_count(t); i++)
        quota_roll_over(&t->quotas[i], wall);
    pace_begin(&t->pace, now);
    breaker_begin(&t->breaker, call, wall);
    quota_use(quota_of(t, tier));
    t->begun++;
    t->unsaved = t->unsaved || t->quotas[0].units;
}

void throttle_end(struct throttle *t, const void *call, bool good)
{
    const int64_t now = clock_wall_ms();
    pace_end(&t->pace);
    if (!breaker_end(&t->breaker, call, good, now))
        return;
    t->unsaved = true;
    if (t->breaker.until)
        log_warn("platforms: %s: too many calls failed; circuit open, no calls for %" PRId64 " min",
                 t->desc->name, (t->breaker.until - now) / MINUTE_MS);
    else
        log_info("platforms: %s: circuit closed, calls succeed again", t->desc->name);
}

void throttle_record_success(struct throttle *t)
{
    t->succeeded_at = clock_wall_ms();
    t->unsaved = true;
}

void throttle_cancel(struct throttle *t, const void *call)
{
    pace_end(&t->pace);
    breaker_cancel(&t->breaker, call);
}

void throttle_pause(struct throttle *t, int64_t wait_ms)
{
    pace_pause(&t->pace, clock_mono_ms() + wait_ms);
    t->unsaved = true;
}

/* --- request forms and error codes --- */

void throttle_raise_tier(struct throttle *t, int tier, bool remember)
{
    if (tier <= t->lowest_tier)
        return;
    t->lowest_tier = tier;
    if (remember) {
        t->stored_tier = tier;
        t->tier_until = clock_wall_ms() + DAY_MS;
    }
    t->unsaved = t->unsaved || remember;
    log_info("platforms: %s: using the alternative request form %s", t->desc->name,
             remember ? "for a day" : "in this run");
}

void throttle_set_metrics_combined(struct throttle *t, enum combined result)
{
    const bool remembered = t->combined_until != TIME_NONE;
    if (result == COMBINED_UNKNOWN) {
        if (!remembered)
            t->combined = ++t->combined_checks < COMBINED_CHECKS_MAX ? COMBINED_UNKNOWN : COMBINED_FAILS;
        return;
    }
    if (remembered && t->combined == result)
        return;
    t->combined = result;
    t->combined_until = clock_wall_ms() + DAY_MS;
    t->unsaved = true;
    log_info("platforms: %s: for the next 24 hours, period metrics and lifetime metrics are requested %s",
             t->desc->name, result == COMBINED_WORKS ? "in one call" : "in separate calls");
}

bool throttle_record_unknown_code(struct throttle *t, struct str code)
{
    const bool added = unknown_codes_add(&t->unknown_codes, code);
    t->unsaved = t->unsaved || added;
    return added;
}

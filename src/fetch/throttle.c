/* Whether a call of an API may begin, by all that limits it; and what of that outlives the run. */
#include "fetch/engine.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/platform_limits.h"

#include <inttypes.h>
#include <stdio.h>

enum { TIER_DAYS = 1, BEHIND_HOURS = 2, COMBINED_CHECKS = 3 };

/* --- from the configuration --- */

static int quota_count(const struct gate *g)
{
    return g->desc->quota_by_tier ? g->desc->tiers : 1;
}

static void limits_of(struct gate *g, const struct config *c, int64_t now, int64_t wall)
{
    int64_t per_minute = g->desc->app_rate.per_minute, units = g->desc->units_per_day, reserve = 0;
    switch (g->api) {
    case API_TIKTOK:
        per_minute = c->tiktok.calls_per_minute;
        g->pace.in_flight_max = (int)c->tiktok.in_flight;
        break;
    case API_INSTAGRAM: g->pace.in_flight_max = (int)c->instagram.in_flight; break;
    case API_INSTAGRAM_FACEBOOK:
    case API_FACEBOOK: g->pace.in_flight_max = (int)c->facebook.in_flight; break;
    case API_YOUTUBE:
        units = c->youtube.units_per_day;
        reserve = c->youtube.reserve_percent;
        g->pace.in_flight_max = (int)c->youtube.in_flight;
        break;
    case API_PINTEREST:
        units = c->pinterest.calls_per_day;
        g->account_per_minute = (int)c->pinterest.calls_per_minute;
        g->pace.in_flight_max = (int)c->pinterest.in_flight;
        g->tier_least = str_eq(str_from_cstr(c->pinterest.bulk), STR("off")) ? 1 : 0;
        break;
    }
    bucket_init(&g->pace.bucket, (int)per_minute, g->desc->app_rate.burst, now);
    CHECK(quota_count(g) <= GATE_QUOTAS);
    for (int tier = 0; tier < GATE_QUOTAS; tier++)
        quota_init(&g->quotas[tier], units, reserve, wall);
}

void account_init(struct account *a, struct gate *g, struct part *part)
{
    *a = (struct account){.gate = g, .part = part};
    list_init(&a->link);
    list_init(&a->queue[CALL_READ]);
    list_init(&a->queue[CALL_RESOLVE]);
    list_init(&a->batches);
    a->tier = g->tier_least;
    bucket_init(&a->bucket, g->account_per_minute, g->desc->account_rate.burst, clock_mono_ms());
}

void gate_init(struct engine *e, struct gate *g, enum platform_api api)
{
    const struct config *c = e->config;
    *g = (struct gate){.api = api, .desc = platform_desc(api), .combined_until = TIME_NONE};
    list_init(&g->ready);
    g->options = platform_options_of(c, api);
    g->app = platform_app_of(c, api);
    g->active = platform_is_configured(c, api);
    g->account_per_minute = g->desc->account_rate.per_minute;
    limits_of(g, c, clock_mono_ms(), clock_wall_ms());
    if (api == API_YOUTUBE && c->youtube.api_key[0]) {
        g->active = true;
        account_init(&e->key_account, g, NULL);
        g->key = &e->key_account;
    }
}

/* --- daily quotas --- */

static struct quota *quota_of(struct gate *g, int tier)
{
    return &g->quotas[g->desc->quota_by_tier ? tier : 0];
}

int gate_tier(const struct gate *g, int tier)
{
    const int64_t wall = clock_wall_ms();
    if (tier < g->tier_least)
        tier = g->tier_least;
    if (!g->desc->quota_by_tier || !quota_is_spent(&g->quotas[tier], wall))
        return tier;
    for (int other = g->tier_least; other < g->desc->tiers; other++)
        if (!quota_is_spent(&g->quotas[other], wall))
            return other;
    return tier;
}

/* Of the form that calls are sent in now. */
static const struct quota *quota_in_use(const struct gate *g)
{
    return &g->quotas[g->desc->quota_by_tier ? gate_tier(g, g->tier_least) : 0];
}

bool gate_spend_quota(struct gate *g, int tier)
{
    const int64_t wall = clock_wall_ms();
    quota_spend_all(quota_of(g, tier));
    g->changed = true;
    const struct quota *next = quota_in_use(g);
    if (quota_is_spent(next, wall))
        return false;
    g->share = g->begun + quota_share(next, wall, HOUR_MS);
    return true;
}

/* --- what outlives the run --- */

/* As if it were not there, once its time is over. */
static enum err get_limit(struct engine *e, const struct gate *g, struct str name, int64_t now,
                          struct platform_limit *out)
{
    enum err err = store_get_limit(e->store, g->api, name, out);
    if (err == ERR_NOT_FOUND ||
        (!err && out->until != TIME_NONE && out->until <= now && !str_eq(name, LIMIT_BREAKER))) {
        *out = (struct platform_limit){.until = TIME_NONE};
        return OK;
    }
    return err ? run_fail(e->run, err, "the database says: %s", err_name(err)) : OK;
}

static struct str units_name(int tier)
{
    return tier ? LIMIT_FALLBACK_UNITS : LIMIT_UNITS;
}

static enum err restore_quotas(struct engine *e, struct gate *g, int64_t now)
{
    struct platform_limit units;
    enum err err = OK;
    for (int tier = 0; tier < quota_count(g) && !err; tier++) {
        err = get_limit(e, g, units_name(tier), now, &units);
        if (!err)
            quota_restore(&g->quotas[tier], units.value, units.until, now);
    }
    return err;
}

/* Expired ones are loaded too, so that gate_save() deletes them. */
static bool on_limit(void *ctx, const struct platform_limit *limit)
{
    struct gate *g = ctx;
    size_t n = 0;
    while (n < GATE_CODES && g->unknown_codes[n].until)
        n++;
    if (n == GATE_CODES)
        return false;
    if (!str_starts_with(limit->name, LIMIT_UNKNOWN_CODE))
        return true;
    const struct str code = {limit->name.p + LIMIT_UNKNOWN_CODE.len,
                             limit->name.len - LIMIT_UNKNOWN_CODE.len};
    if (str_put(g->unknown_codes[n].code, sizeof g->unknown_codes[n].code, code))
        g->unknown_codes[n].until = limit->until;
    return true;
}

static enum err restore_codes(struct engine *e, struct gate *g)
{
    enum err err = store_list_limits(e->store, g->api, on_limit, g);
    return err ? run_fail(e->run, err, "the database says: %s", err_name(err)) : OK;
}

enum err gate_restore(struct engine *e, struct gate *g)
{
    const int64_t now = clock_wall_ms(), mono = clock_mono_ms();
    struct platform_limit breaker, pause, tier, behind, combined;
    enum err err = restore_quotas(e, g, now);
    if (!err)
        err = restore_codes(e, g);
    if (!err)
        err = get_limit(e, g, LIMIT_BREAKER, now, &breaker);
    if (!err)
        err = get_limit(e, g, LIMIT_PAUSE, now, &pause);
    if (!err)
        err = get_limit(e, g, LIMIT_TIER, now, &tier);
    if (!err)
        err = get_limit(e, g, LIMIT_BEHIND, now, &behind);
    if (!err)
        err = get_limit(e, g, LIMIT_COMBINED, now, &combined);
    if (err)
        return err;
    breaker_restore(&g->breaker, (int)breaker.value, breaker.until, now);
    if (pause.until != TIME_NONE && pause.until <= now + DAY_MS + HOUR_MS)
        pace_pause(&g->pace, mono + (pause.until - now));
    const bool always =
        g->api == API_PINTEREST && str_eq(str_from_cstr(e->config->pinterest.bulk), STR("on"));
    if (tier.value > g->tier_least && tier.value < g->desc->tiers && !always)
        g->tier_least = (int)tier.value;
    g->behind = behind.value > 0;
    if (combined.value == COMBINED_WORKS || combined.value == COMBINED_FAILS) {
        g->combined = (enum combined)combined.value;
        g->combined_until = combined.until;
    }
    g->tier_until = tier.until;
    g->share = quota_share(quota_in_use(g), now, HOUR_MS);
    if (g->key)
        g->key->tier = g->tier_least;
    return OK;
}

static enum err put_limit(struct engine *e, const struct gate *g, struct str name, int64_t value,
                          int64_t until)
{
    const struct platform_limit limit = {.api = g->api, .name = name, .value = value, .until = until};
    return value ? store_put_limit(e->store, &limit) : store_delete_limit(e->store, g->api, name);
}

static enum err save_codes(struct engine *e, struct gate *g, int64_t now)
{
    enum err err = OK;
    for (size_t i = 0; i < GATE_CODES && !err; i++) {
        struct unknown_code *u = &g->unknown_codes[i];
        char name[sizeof "unknown." + CODE_MAX];
        if (!u->until)
            continue;
        (void)snprintf(name, sizeof name, "%.*s%s", (int)LIMIT_UNKNOWN_CODE.len, LIMIT_UNKNOWN_CODE.p,
                       u->code);
        err = put_limit(e, g, str_from_cstr(name), u->until > now, u->until);
        u->until = u->until > now ? u->until : 0;
    }
    return err;
}

enum err gate_save(struct engine *e, struct gate *g)
{
    const int64_t now = clock_wall_ms(), paused_ms = g->pace.paused_until - clock_mono_ms();
    enum err err = OK;
    for (int tier = 0; tier < quota_count(g) && g->quotas[tier].units && !err; tier++)
        err = put_limit(e, g, units_name(tier), g->quotas[tier].used, g->quotas[tier].resets_at);
    if (!err)
        err = put_limit(e, g, LIMIT_BREAKER, g->breaker.level, g->breaker.until);
    if (!err)
        err = put_limit(e, g, LIMIT_PAUSE, paused_ms > MINUTE_MS, now + paused_ms);
    if (!err && g->tier_until != TIME_NONE)
        err = put_limit(e, g, LIMIT_TIER, g->tier_least, g->tier_until);
    if (!err)
        err = put_limit(e, g, LIMIT_BEHIND, g->behind, now + BEHIND_HOURS * HOUR_MS);
    if (!err && g->combined_until != TIME_NONE)
        err = put_limit(e, g, LIMIT_COMBINED, g->combined, g->combined_until);
    if (!err)
        err = save_codes(e, g, now);
    if (!err && g->answered_at)
        err = put_limit(e, g, LIMIT_ANSWERED, g->answered_at, TIME_NONE);
    if (!err)
        g->changed = false;
    return err;
}

/* --- whether a call may begin --- */

int gate_ids_per_call(const struct gate *g, enum call_kind kind, int tier)
{
    /* Where graph.instagram.com takes batches, they are those of graph.facebook.com. */
    const bool batches = g->api == API_INSTAGRAM && g->options.batch;
    const struct platform_desc *desc = batches ? platform_desc(API_INSTAGRAM_FACEBOOK) : g->desc;
    int n = desc->ids_per_call[tier < g->tier_least ? g->tier_least : tier];
    if (kind == CALL_RESOLVE)
        n = g->desc->ids_per_resolve;
    else if (g->options.ids_per_call)
        n = g->options.ids_per_call;
    if (n < 1)
        return 1;
    return n < CALL_IDS_MAX ? n : CALL_IDS_MAX;
}

int64_t gate_ready_at(const struct gate *g, int64_t now)
{
    const int64_t wall = clock_wall_ms();
    int64_t at = pace_ready_at(&g->pace, now);
    if (at == PACE_NEVER)
        return at;
    if (g->desc->combines && g->combined == COMBINED_UNKNOWN && g->pace.in_flight)
        return PACE_NEVER;
    const int64_t breaker = breaker_ready_at(&g->breaker, wall);
    if (breaker == INT64_MAX)
        return PACE_NEVER;
    if (now + (breaker - wall) > at)
        at = now + (breaker - wall);
    const struct quota *quota = quota_in_use(g);
    const bool spent = quota_left(quota, wall) <= 0 || g->begun >= g->share;
    if (spent && now + (quota->resets_at - wall) > at)
        at = now + (quota->resets_at - wall);
    return at;
}

void gate_begin(struct gate *g, int tier, int64_t now)
{
    const int64_t wall = clock_wall_ms();
    for (int i = 0; i < quota_count(g); i++)
        quota_turn(&g->quotas[i], wall);
    pace_begin(&g->pace, now);
    breaker_begin(&g->breaker);
    quota_take(quota_of(g, tier));
    g->begun++;
    g->changed = g->changed || g->quotas[0].units;
}

void gate_end(struct gate *g, bool good)
{
    const int64_t now = clock_wall_ms();
    pace_end(&g->pace);
    if (good) {
        g->answered_at = now;
        g->changed = true;
    }
    if (!breaker_end(&g->breaker, good, now))
        return;
    g->changed = true;
    if (g->breaker.until)
        log_warn("platforms: %s fails: it is left alone for %" PRId64 " min", g->desc->name,
                 (g->breaker.until - now) / MINUTE_MS);
    else
        log_info("platforms: %s answers again", g->desc->name);
}

void gate_forget(struct gate *g)
{
    pace_end(&g->pace);
    breaker_forget(&g->breaker);
}

void gate_pause(struct gate *g, int64_t wait_ms)
{
    pace_pause(&g->pace, clock_mono_ms() + wait_ms);
    g->changed = true;
}

void gate_close(struct engine *e, struct gate *g)
{
    g->closed = true;
    while (!list_is_empty(&g->ready))
        account_give_up(e, LIST_ENTRY(g->ready.next, struct account, link));
}

void gate_raise_tier(struct gate *g, int tier, bool remember)
{
    if (tier <= g->tier_least)
        return;
    g->tier_least = tier;
    if (remember)
        g->tier_until = clock_wall_ms() + TIER_DAYS * DAY_MS;
    g->changed = g->changed || remember;
    log_info("platforms: %s: its other form of request is used for a day", g->desc->name);
}

void gate_learn_combined(struct gate *g, enum combined shown)
{
    const bool remembered = g->combined_until != TIME_NONE;
    if (shown == COMBINED_UNKNOWN) {
        if (!remembered)
            g->combined = ++g->combined_checks < COMBINED_CHECKS ? COMBINED_UNKNOWN : COMBINED_FAILS;
        return;
    }
    if (remembered && g->combined == shown)
        return;
    g->combined = shown;
    g->combined_until = clock_wall_ms() + TIER_DAYS * DAY_MS;
    g->changed = true;
    log_info("platforms: %s: period and lifetime metrics are requested %s for a day", g->desc->name,
             shown == COMBINED_WORKS ? "together" : "by separate calls");
}

bool gate_learn_code(struct gate *g, struct str code)
{
    const int64_t now = clock_wall_ms();
    struct unknown_code *free_one = NULL;
    for (size_t i = 0; i < GATE_CODES; i++) {
        struct unknown_code *u = &g->unknown_codes[i];
        if (u->until > now && str_eq(str_from_cstr(u->code), code))
            return false;
        if (u->until <= now && (!u->until || !free_one))
            free_one = u;
    }
    if (!free_one || !str_put(free_one->code, sizeof free_one->code, code))
        return false;
    free_one->until = now + TIER_DAYS * DAY_MS;
    g->changed = true;
    return true;
}

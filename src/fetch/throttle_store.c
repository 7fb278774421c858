/* Loads and saves the part of a throttle's state that outlives a run, as rows of platform_limits. */
#include "fetch/throttle.h"

#include "base/clock.h"

enum { BACKLOG_HOURS = 2 }; /* a stored backlog expires after this time */

/* Reads a limit. An expired limit is treated as absent, except the limit of the circuit breaker, whose level
 * is still needed. */
static enum err load_limit(const struct throttle *t, struct store *store, struct str name, int64_t now,
                           struct platform_limit *out)
{
    const enum err err = store_get_platform_limit(store, t->api, name, out);
    if (err && err != ERR_NOT_FOUND)
        return err;
    const bool expired = !err && out->until != TIME_NONE && out->until <= now && !str_eq(name, LIMIT_CIRCUIT);
    if (err || expired)
        *out = (struct platform_limit){.until = TIME_NONE};
    return OK;
}

static struct str units_name(int tier)
{
    return tier ? LIMIT_FALLBACK_UNITS : LIMIT_UNITS;
}

static enum err load_quotas(struct throttle *t, struct store *store, int64_t now)
{
    for (int tier = 0; tier < throttle_quota_count(t); tier++) {
        struct platform_limit units;
        const enum err err = load_limit(t, store, units_name(tier), now, &units);
        if (err)
            return err;
        quota_restore(&t->quotas[tier], units.value, units.until, now);
    }
    return OK;
}

enum { SAVED_BREAKER, SAVED_PAUSE, SAVED_TIER, SAVED_BACKLOG, SAVED_COMBINED, SAVED_LIMITS };

static void restore(struct throttle *t, const struct platform_limit saved[SAVED_LIMITS], bool tier_is_fixed,
                    int64_t now)
{
    const struct platform_limit *breaker = &saved[SAVED_BREAKER], *pause = &saved[SAVED_PAUSE];
    const struct platform_limit *tier = &saved[SAVED_TIER], *combined = &saved[SAVED_COMBINED];
    breaker_restore(&t->breaker, (int)breaker->value, breaker->until, now);
    if (pause->until != TIME_NONE && pause->until <= now + DAY_MS + HOUR_MS)
        pace_pause(&t->pace, clock_mono_ms() + (pause->until - now));
    if (!tier_is_fixed && tier->value < t->desc->tiers)
        t->stored_tier = (int)tier->value;
    if (t->stored_tier > t->lowest_tier)
        t->lowest_tier = t->stored_tier;
    t->tier_until = tier->until;
    t->backlog = saved[SAVED_BACKLOG].value > 0;
    if (combined->value == COMBINED_WORKS || combined->value == COMBINED_FAILS) {
        t->combined = (enum combined)combined->value;
        t->combined_until = combined->until;
    }
    t->share = quota_share(throttle_quota_in_use(t), now, HOUR_MS);
}

enum err throttle_load(struct throttle *t, struct store *store, const struct config *config)
{
    const struct str names[SAVED_LIMITS] = {LIMIT_CIRCUIT, LIMIT_PAUSE, LIMIT_TIER, LIMIT_BACKLOG,
                                            LIMIT_COMBINED};
    const int64_t now = clock_wall_ms();
    struct platform_limit saved[SAVED_LIMITS];
    enum err err = load_quotas(t, store, now);
    if (err)
        return err;
    err = unknown_codes_load(&t->unknown_codes, store, t->api);
    if (err)
        return err;
    for (int i = 0; i < SAVED_LIMITS; i++) {
        err = load_limit(t, store, names[i], now, &saved[i]);
        if (err)
            return err;
    }
    const bool tier_is_fixed = platform_call_limits_of(config, t->api).bulk == BULK_ON;
    restore(t, saved, tier_is_fixed, now);
    return OK;
}

/* Stores a limit. Deletes the row if the value is 0. */
static enum err save_limit(const struct throttle *t, struct store *store, struct str name, int64_t value,
                           int64_t until)
{
    const struct platform_limit limit = {.api = t->api, .name = name, .value = value, .until = until};
    return value ? store_put_platform_limit(store, &limit) : store_delete_platform_limit(store, t->api, name);
}

static enum err save_quotas(const struct throttle *t, struct store *store)
{
    for (int tier = 0; tier < throttle_quota_count(t) && t->quotas[tier].units; tier++) {
        const enum err err =
            save_limit(t, store, units_name(tier), t->quotas[tier].used, t->quotas[tier].resets_at);
        if (err)
            return err;
    }
    return OK;
}

static enum err save_limits(const struct throttle *t, struct store *store)
{
    const int64_t now = clock_wall_ms(), pause_ms = t->pace.paused_until - clock_mono_ms();
    const struct {
        bool is_known;
        struct str name;
        int64_t value, until;
    } limits[] = {
        {true, LIMIT_CIRCUIT, t->breaker.level, t->breaker.until},
        {true, LIMIT_PAUSE, pause_ms > MINUTE_MS, now + pause_ms},
        {t->tier_until != TIME_NONE, LIMIT_TIER, t->stored_tier, t->tier_until},
        {true, LIMIT_BACKLOG, t->backlog, now + BACKLOG_HOURS * HOUR_MS},
        {t->combined_until != TIME_NONE, LIMIT_COMBINED, t->combined, t->combined_until},
        {t->succeeded_at != 0, LIMIT_LAST_SUCCESS, t->succeeded_at, TIME_NONE},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (!limits[i].is_known)
            continue;
        const enum err err = save_limit(t, store, limits[i].name, limits[i].value, limits[i].until);
        if (err)
            return err;
    }
    return OK;
}

enum err throttle_save(const struct throttle *t, struct store *store)
{
    enum err err = save_quotas(t, store);
    if (err)
        return err;
    err = save_limits(t, store);
    return err ? err : unknown_codes_save(&t->unknown_codes, store, t->api);
}

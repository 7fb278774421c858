/* Accounts by their state, and what the refresh wrote of each API. */
#include "vault/platform_health.h"

#include "vault/token_vault.h"
#include "store/platform_limits.h"

/* Nothing is there: zero, and over. */
static enum err get(struct store *s, enum platform_api api, struct str name, struct platform_limit *out)
{
    enum err err = store_get_limit(s, (int)api, name, out);
    if (err != ERR_NOT_FOUND)
        return err;
    *out = (struct platform_limit){.value = 0, .until = TIME_NONE};
    return OK;
}

static int64_t still(const struct platform_limit *limit, int64_t now_ms)
{
    return limit->value && limit->until != TIME_NONE && limit->until > now_ms ? limit->until : TIME_NONE;
}

static int64_t left(const struct platform_health *p, const struct platform_limit *used, int64_t now_ms)
{
    const int64_t n = p->units_per_day - (still(used, now_ms) == TIME_NONE ? 0 : used->value);
    return n > 0 ? n : 0;
}

static enum err read_limits(struct store *s, int64_t now_ms, struct platform_health *out)
{
    struct platform_limit combined, units, fallback, breaker, pause, behind, answered;
    enum err err = get(s, out->api, LIMIT_UNITS, &units);
    if (!err)
        err = get(s, out->api, LIMIT_FALLBACK_UNITS, &fallback);
    if (!err)
        err = get(s, out->api, LIMIT_BREAKER, &breaker);
    if (!err)
        err = get(s, out->api, LIMIT_PAUSE, &pause);
    if (!err)
        err = get(s, out->api, LIMIT_BACKLOG, &behind);
    if (!err)
        err = get(s, out->api, LIMIT_ANSWERED, &answered);
    if (!err)
        err = get(s, out->api, LIMIT_COMBINED, &combined);
    if (err)
        return err;
    out->combined_until = still(&combined, now_ms);
    out->combined = out->combined_until == TIME_NONE ? COMBINED_UNKNOWN : (enum combined)combined.value;
    out->units_until = still(&units, now_ms);
    out->units_left = left(out, &units, now_ms);
    out->fallback_units_left = platform_desc(out->api)->quota_by_tier ? left(out, &fallback, now_ms) : -1;
    out->circuit_open_until = still(&breaker, now_ms);
    out->paused_until = still(&pause, now_ms);
    out->behind = still(&behind, now_ms) != TIME_NONE;
    out->answered_at = answered.value ? answered.value : TIME_NONE;
    return OK;
}

enum err platform_health_read(struct store *s, const struct config *config, enum platform_api api,
                              int64_t now_ms, struct platform_health *out)
{
    enum err err = OK;
    *out = (struct platform_health){.api = api,
                                    .configured = platform_is_configured(config, api) ||
                                                  platform_options_of(config, api).by_key,
                                    .units_per_day = platform_call_limits_of(config, api).units_per_day};
    for (int state = 0; state < CREDENTIAL_STATES && !err; state++)
        err = store_count_credentials(s, (int)api, (enum credential_state)state, &out->accounts[state]);
    return err ? err : read_limits(s, now_ms, out);
}

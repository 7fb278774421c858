/* Counts accounts by state and reads the limits that the refresh stored. */
#include "vault/platform_health.h"

#include "vault/token_vault.h"
#include "store/platform_limits.h"

/* Returns the time until which the limit applies, or TIME_NONE if it does not apply. */
static int64_t applies_until(const struct platform_limit *limit, int64_t now_ms)
{
    return limit->value && limit->until != TIME_NONE && limit->until > now_ms ? limit->until : TIME_NONE;
}

static int64_t units_left(const struct platform_health *p, const struct platform_limit *used, int64_t now_ms)
{
    const int64_t n = p->units_per_day - (applies_until(used, now_ms) == TIME_NONE ? 0 : used->value);
    return n > 0 ? n : 0;
}

enum { UNITS, FALLBACK_UNITS, BREAKER, PAUSE, BACKLOG, SUCCESS, COMBINED, LIMITS };

static enum err read_limits(struct store *s, int64_t now_ms, struct platform_health *out)
{
    const struct str names[LIMITS] = {LIMIT_UNITS,   LIMIT_FALLBACK_UNITS, LIMIT_CIRCUIT, LIMIT_PAUSE,
                                      LIMIT_BACKLOG, LIMIT_LAST_SUCCESS,   LIMIT_COMBINED};
    struct platform_limit limit[LIMITS];
    for (int i = 0; i < LIMITS; i++) {
        const enum err err = store_get_platform_limit(s, (int)out->api, names[i], &limit[i]);
        if (err == ERR_NOT_FOUND)
            limit[i] = (struct platform_limit){.value = 0, .until = TIME_NONE};
        else if (err)
            return err;
    }
    out->combined_until = applies_until(&limit[COMBINED], now_ms);
    out->combined =
        out->combined_until == TIME_NONE ? COMBINED_UNKNOWN : (enum combined)limit[COMBINED].value;
    out->units_until = applies_until(&limit[UNITS], now_ms);
    out->units_left = units_left(out, &limit[UNITS], now_ms);
    out->fallback_units_left =
        platform_desc(out->api)->quota_by_tier ? units_left(out, &limit[FALLBACK_UNITS], now_ms) : -1;
    out->circuit_open_until = applies_until(&limit[BREAKER], now_ms);
    out->paused_until = applies_until(&limit[PAUSE], now_ms);
    out->has_backlog = applies_until(&limit[BACKLOG], now_ms) != TIME_NONE;
    out->last_success_at = limit[SUCCESS].value ? limit[SUCCESS].value : TIME_NONE;
    return OK;
}

enum err platform_health_read(struct store *s, const struct config *config, enum platform_api api,
                              int64_t now_ms, struct platform_health *out)
{
    *out = (struct platform_health){.api = api,
                                    .configured = platform_is_configured(config, api) ||
                                                  platform_options_of(config, api).by_key,
                                    .units_per_day = platform_call_limits_of(config, api).units_per_day};
    for (int state = 0; state < CREDENTIAL_STATES; state++) {
        const enum err err =
            store_count_credentials(s, (int)api, (enum credential_state)state, &out->accounts[state]);
        if (err)
            return err;
    }
    return read_limits(s, now_ms, out);
}

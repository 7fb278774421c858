/* Maps the section of a platform to the options of its connector and the limits of its calls. */
#include "platforms/platform_settings.h"

static const struct platform_settings *settings_of(const struct config *config, enum platform_api api)
{
    return &config->platform[platform_desc(api)->section];
}

/* Returns the value of a key, or "" if `value` is NULL, because the platform does not have the key. */
static struct str text_of(const char *value)
{
    return str_from_cstr(value ? value : "");
}

struct platform_options platform_options_of(const struct config *config, enum platform_api api)
{
    const struct platform_settings *s = settings_of(config, api);
    return (struct platform_options){
        .origins = {[ORIGIN_API] = s->api_origin,
                    [ORIGIN_TOKEN] = s->token_origin,
                    [ORIGIN_CONSENT] = s->consent_origin},
        /* All of Meta's APIs use the same version. */
        .graph_version = config->platform[PLATFORM_FACEBOOK].graph_version,
        .ids_per_call = (int)s->ids_per_call,
        .batch = s->batch,
        .more_scopes = s->more_scopes,
        .config_id = s->config_id,
        .api_key = text_of(s->api_key),
        .by_key = text_of(s->api_key).len > 0,
    };
}

struct platform_app platform_app_of(const struct config *config, enum platform_api api)
{
    const struct platform_settings *s = settings_of(config, api);
    return (struct platform_app){.client_id = text_of(s->client_id),
                                 .client_secret = text_of(s->client_secret)};
}

bool platform_is_configured(const struct config *config, enum platform_api api)
{
    return *config->secrets.key_file && platform_app_of(config, api).client_id.len;
}

static enum bulk bulk_of(const struct platform_settings *s)
{
    if (str_eq(text_of(s->bulk), STR("on")))
        return BULK_ON;
    return str_eq(text_of(s->bulk), STR("off")) ? BULK_OFF : BULK_AUTO;
}

struct platform_call_limits platform_call_limits_of(const struct config *config, enum platform_api api)
{
    const struct platform_desc *desc = platform_desc(api);
    const struct platform_settings *s = settings_of(config, api);
    struct platform_call_limits limits = {
        .app_per_minute = desc->app_rate.per_minute,
        .account_per_minute = desc->account_rate.per_minute,
        .units_per_day = s->units_per_day,
        .reserve_percent = s->reserve_percent,
        .in_flight = s->in_flight,
        .bulk = bulk_of(s),
    };
    if (s->calls_per_minute) /* replaces the limit of the app, or the limit of each account if there is no
                                limit of the app */
        *(limits.app_per_minute ? &limits.app_per_minute : &limits.account_per_minute) = s->calls_per_minute;
    return limits;
}

struct http_client_options platform_client_options(const struct config *config)
{
    struct http_client_options o = {
        .ca_file = config->platforms.ca_file,
        .connect_timeout_ms = config->platforms.connect_timeout_ms,
        .timeout_ms = config->platforms.timeout_ms,
        .body_max = HTTP_CLIENT_BODY_BYTES,
    };
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        const long calls = (long)config->platform[p].in_flight + 2; /* 2 more for token refreshes */
        o.host_connections = calls > o.host_connections ? calls : o.host_connections;
    }
    return o;
}

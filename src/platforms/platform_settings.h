/* Maps the configuration to the settings of an API. Outside of src/config, only this module reads
 * config->platform[]. Returned texts point into the configuration. */
#ifndef VT_PLATFORMS_PLATFORM_SETTINGS_H
#define VT_PLATFORMS_PLATFORM_SETTINGS_H

#include "config/config.h"
#include "net/http_client.h"
#include "platforms/platform.h"

/* Returns the options of the API's connector. */
struct platform_options platform_options_of(const struct config *config, enum platform_api api);

/* Returns the operator's app at the platform. Its client_id is "" if none exists. */
struct platform_app platform_app_of(const struct config *config, enum platform_api api);

/* Returns true if accounts can be connected and read: the operator has configured an app, and a key file to
 * seal tokens with. */
bool platform_is_configured(const struct config *config, enum platform_api api);

/* [pinterest] bulk: whether the first request form, which reads many posts, may be used. */
enum bulk { BULK_AUTO, BULK_ON, BULK_OFF };

struct platform_call_limits {
    int64_t app_per_minute, account_per_minute; /* 0: unlimited */
    int64_t units_per_day;   /* calls per day, of each request form if desc->quota_by_tier; 0: unlimited */
    int64_t reserve_percent; /* part of units_per_day that is reserved for the end of the day */
    int64_t in_flight;
    enum bulk bulk;
};
/* Returns the limits for calls of the API. */
struct platform_call_limits platform_call_limits_of(const struct config *config, enum platform_api api);

/* Returns the options of an HTTP client that calls the platforms. */
struct http_client_options platform_client_options(const struct config *config);

#endif

/* Maps the configuration to an API. Only this module reads config->platform[]. Returned texts point into
 * the configuration. */
#ifndef VT_PLATFORMS_PLATFORM_SETTINGS_H
#define VT_PLATFORMS_PLATFORM_SETTINGS_H

#include "config/config.h"
#include "net/http_client.h"
#include "platforms/platform.h"

struct platform_options platform_options_of(const struct config *config, enum platform_api api);

/* client_id "": the operator has no app there. */
struct platform_app platform_app_of(const struct config *config, enum platform_api api);

/* Whether accounts can be connected and read: there is an app, and a key file to seal tokens with. */
bool platform_is_configured(const struct config *config, enum platform_api api);

/* [pinterest] bulk: whether the first form of a request, which reads many posts, may be used. */
enum bulk { BULK_AUTO, BULK_ON, BULK_OFF };

struct platform_call_limits {
    int64_t app_per_minute, account_per_minute; /* 0: unlimited */
    int64_t units_per_day;                      /* calls per day; 0: unlimited */
    int64_t reserve_percent;                    /* of units_per_day, for the end of the day */
    int64_t in_flight;
    enum bulk bulk;
};
struct platform_call_limits platform_call_limits_of(const struct config *config, enum platform_api api);

/* Options of an HTTP client that calls the platforms. */
struct http_client_options platform_client_options(const struct config *config);

#endif

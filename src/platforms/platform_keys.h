/* Rows of the configuration table of a connector, as macros, for the keys that several platforms share.
 * `constant` is the PLATFORM_… constant, and `section` is the name of the platform's section. */
#ifndef VT_PLATFORMS_PLATFORM_KEYS_H
#define VT_PLATFORMS_PLATFORM_KEYS_H

#include "config/key_rows.h"

#define APP_KEYS(constant, section, client_id_help)                                                          \
    {section, "client_id", CONFIG_TEXT,   KEY(platform[constant].client_id), "", TEXT_LIMIT(200),            \
     false,   NULL,        client_id_help},                                                                  \
    {                                                                                                        \
        section, "client_secret", CONFIG_TEXT, KEY(platform[constant].client_secret), "", TEXT_LIMIT(500),   \
            true, NULL, "The secret that belongs to client_id."                                              \
    }

#define IN_FLIGHT_HELP "Maximum number of concurrent calls."
#define IN_FLIGHT_KEY(constant, section, initial, help)                                                      \
    {                                                                                                        \
        section, "in_flight", CONFIG_INTEGER, RELOADED(platform[constant].in_flight), initial, 1, 100,       \
            false, NULL, help                                                                                \
    }

/* A row for an origin. `member` is api_origin, token_origin or consent_origin. */
#define ORIGIN_KEY(constant, section, member, initial, help)                                                 \
    {                                                                                                        \
        section, #member, CONFIG_TEXT, KEY(platform[constant].member), initial, TEXT_LIMIT(200), false,      \
            config_check_origin, help                                                                        \
    }

#define API_ORIGIN_HELP     "Address of the API. Change the origins only for tests with a simulated platform."
#define TOKEN_ORIGIN_HELP   "Address of the token endpoint."
#define CONSENT_ORIGIN_HELP "Address of the consent page, to which the browser is redirected."

#define CONFIG_SECTION(keys)                                                                                 \
    {                                                                                                        \
        (keys), sizeof(keys) / sizeof *(keys)                                                                \
    }

#endif

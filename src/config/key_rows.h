/* Macros and checks for the tables of configuration keys (struct config_key). Only for config_table.c and the
 * connectors. */
#ifndef VT_CONFIG_KEY_ROWS_H
#define VT_CONFIG_KEY_ROWS_H

#include "config/config.h"

/* Initializers of config_key.place: the member of struct config that stores the value. With RELOADED, SIGHUP
 * applies a changed value. */
#define KEY(member)                                                                                          \
    {                                                                                                        \
        offsetof(struct config, member), false                                                               \
    }
#define RELOADED(member)                                                                                     \
    {                                                                                                        \
        offsetof(struct config, member), true                                                                \
    }

/* Initializers of config_key.min and config_key.max. */
#define NO_LIMIT         0, 0
#define TEXT_LIMIT(most) 0, (most)

/* For the checks of a key: returns OK if `is_met`, and otherwise ERR_INVALID with the text `rule`, such as
 * "must be …". */
enum err config_rule(bool is_met, const char *rule, struct error *error);

/* Accepts https:// and a host, with or without a port, but no path. With test seams, also accepts http:// and
 * a loopback address. */
enum err config_check_origin(struct str value, struct error *error);

/* These check the values of [store] url, [redis] url, [server] trusted_proxies and [webhooks]
 * allowed_networks. Each is defined beside the code that uses the value: store/store_config.c,
 * redis/redis_url.c, http/proxies.c, webhook/webhook_url.c. */
enum err config_check_store_url(struct str value, struct error *error);
enum err config_check_redis_url(struct str value, struct error *error);
enum err config_check_proxies(struct str value, struct error *error);
enum err config_check_webhook_networks(struct str value, struct error *error);

#endif

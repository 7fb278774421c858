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

/* Accepts https:// and a host, with or without a port, but no path. With test seams, also accepts http:// and
 * a loopback address. */
bool config_check_origin(struct str value, const char **why);

#endif

/* For files that define rows of configuration keys (struct config_key): config_table.c and the connectors. */
#ifndef VT_CONFIG_KEY_ROWS_H
#define VT_CONFIG_KEY_ROWS_H

#include "config/config.h"

/* The member of struct config that holds the value. RELOADED: SIGHUP applies a new value. */
#define KEY(member)                                                                                          \
    {                                                                                                        \
        offsetof(struct config, member), false                                                               \
    }
#define RELOADED(member)                                                                                     \
    {                                                                                                        \
        offsetof(struct config, member), true                                                                \
    }
#define NO_LIMIT         0, 0
#define TEXT_LIMIT(most) 0, (most)

/* https:// and a host, optionally a port; no path. With test seams also http:// to a loopback address. */
bool config_check_origin(struct str value, const char **why);

#endif

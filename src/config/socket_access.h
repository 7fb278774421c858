/* The permissions and the group of the Unix sockets in [server] listen, which determine who may connect. */
#ifndef VT_CONFIG_SOCKET_ACCESS_H
#define VT_CONFIG_SOCKET_ACCESS_H

#include "config/config.h"

#include <sys/types.h>

struct socket_access {
    mode_t mode;
    bool has_group; /* false: the sockets have the group of the server */
    gid_t group;
};

/* Reads [server] socket_mode and socket_group. Returns ERR_INVALID if the group does not exist. */
MUST_USE enum err socket_access_from_config(const struct config *config, struct socket_access *out,
                                            struct error *error);

#endif

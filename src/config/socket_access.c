/* Reads the mode of the Unix sockets and looks up their group. */
#include "config/socket_access.h"

#include "base/str.h"

#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum err socket_access_from_config(const struct config *config, struct socket_access *out,
                                   struct error *error)
{
    const char *name = config->server.socket_group;
    unsigned long long id;
    *out = (struct socket_access){.mode = (mode_t)strtoul(config->server.socket_mode, NULL, 8),
                                  .has_group = *name != '\0'};
    if (!*name)
        return OK;
    if (str_to_u64(str_from_cstr(name), UINT_MAX - 1, &id)) {
        out->group = (gid_t)id;
        return OK;
    }
    const struct group *group = getgrnam(name);
    if (!group)
        return error_set(
            error, ERR_INVALID,
            "[server] socket_group: there is no group %s on this system (getent group lists them)", name);
    out->group = group->gr_gid;
    return OK;
}

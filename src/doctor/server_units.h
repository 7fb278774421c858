/* The systemd units that run a server with the checked configuration file, as systemctl(1) shows them. */
#ifndef VT_DOCTOR_SERVER_UNITS_H
#define VT_DOCTOR_SERVER_UNITS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { SERVER_UNITS_MAX = 32 };

struct server_unit {
    struct str name;  /* "viewtally.service", "viewtally@2.service" */
    struct str state; /* ActiveState: "active", "failed", … */
    bool is_enabled;  /* it starts at boot */
    bool is_running;
    bool is_starting; /* false while systemd waits to restart it after a failure */
    struct str user, group, supplementary_groups; /* User=, Group=, SupplementaryGroups=; "" if not set */
    bool has_credentials;                         /* LoadCredential= is set */
    struct str admin_listen; /* the [admin] listen that the unit sets in Environment=; "" if it does not */
};

struct server_units {
    struct server_unit items[SERVER_UNITS_MAX];
    size_t count;    /* 0 if systemd has no such unit, or is not running */
    struct buf text; /* output of systemctl, to which the strings of the items point */
};

/* Reads the units whose ExecStart= names the configuration file `config_path`. If `config_path` is NULL, the
 * result has no units. Free the result with server_units_free(). */
struct server_units *server_units_read(const char *config_path);
void server_units_free(struct server_units *units); /* `units` may be NULL */

/* Returns true if the unit has LoadCredential=NAME:path, with which systemd passes the file to the server. */
bool server_unit_loads_credential(const struct server_unit *unit, const char *path);

/* Parses units->text, the output of `systemctl show`, and adds the units to units->items. */
void server_units_parse(struct server_units *units, const char *config_path);

#endif

/* The parts of an nginx configuration that concern viewtally. */
#ifndef VT_DOCTOR_NGINX_VIEW_H
#define VT_DOCTOR_NGINX_VIEW_H

#include "config/config.h"
#include "doctor/nginx_config.h"
#include "base/vec.h"

/* A proxy_pass to viewtally. */
struct nginx_proxy {
    const struct nginx_directive *location; /* the block that contains the proxy_pass */
    const struct nginx_directive *upstream; /* NULL if the proxy_pass names an address */
    struct str address;                     /* an address of viewtally: "127.0.0.1:8080" or "unix:/path" */
};

enum nginx_source {
    NGINX_READ,
    NGINX_ABSENT,     /* nginx is not installed */
    NGINX_UNREADABLE, /* `error` says why */
};

struct nginx_view {
    enum nginx_source source;
    struct error error;
    struct arena arena;
    struct buf text;
    const struct nginx_directive *root;
    bool lacks_includes; /* the text includes files, whose content it does not contain */
    VEC(struct nginx_proxy) proxies;
};

/* Reads `file`, or the output of `nginx -T` if `file` is NULL. Free the view with nginx_view_free(). */
struct nginx_view *nginx_view_read(const char *file, const struct config *c);
void nginx_view_free(struct nginx_view *v); /* `v` may be NULL */

/* Returns the first argument of the directive `name` that applies to `block`, or `initial` if the directive
 * is missing.
 */
struct str nginx_value(const struct nginx_directive *block, const char *name, struct str initial);

/* Parses a time such as "60s", "1m" or "1h 30m" of nginx, in ms. Returns -1 for other text. */
int64_t nginx_parse_time(struct str text);

/* Returns true if `text` contains the variable $name or ${name}. */
bool nginx_has_variable(struct str text, const char *name);

#endif

/* Routes, applications and mounts: which application handles a request, by which of its routes.
 *
 * A mount puts routes of an application below a path prefix. The server looks a complete request up once and
 * sets r->app, r->route and r->path_parameter, which nothing changes afterwards. A request that is refused
 * before it is complete belongs to the router's fallback application. */
#ifndef VT_HTTP_ROUTER_H
#define VT_HTTP_ROUTER_H

#include "http/request.h"

enum { ROUTE_GET = 1, ROUTE_POST = 2 }; /* methods; a GET route accepts HEAD too */

/* Parts of the address that are secrets: request logs show neither the path below "{…}" nor the query. */
enum { ROUTE_SECRET_PATH = 1, ROUTE_SECRET_QUERY = 2 };

struct route {
    const char *path; /* below the prefix; a last segment "{…}" matches any one segment: r->path_parameter */
    const char *name;    /* in logs and metrics, such as "/v1/videos/{id}"; NULL: `path` */
    unsigned methods;    /* ROUTE_GET, ROUTE_POST */
    unsigned secrets;    /* ROUTE_SECRET_PATH, ROUTE_SECRET_QUERY */
    unsigned flags;      /* of the application */
    request_step *start; /* the endpoint's first step, for the application to call after its own checks */
};

struct http_app {
    void *ctx;
    /* The first step of a request that matches a route and its methods. */
    request_step *start;
    /* The first step of any other request. r->res.status is 404 (r->route is NULL) or 405. For 405 it
     * completes the response, and the router adds the Allow field. */
    request_step *no_route;
    /* Optional: true if it has made the response to an OPTIONS request of a route. */
    bool (*preflight)(struct request *r);
    /* Builds the response to a request that the server rejects (400, 408, 413, 414, 417, 431, 501, 503, 505).
     * r->res.status is set; `message` is an English sentence. */
    void (*reject)(struct request *r, const char *message);
    /* Optional: called for each response just before it is sent, also after reject(); adds common header
     * fields. */
    void (*finish)(struct request *r);
};

/* Which requests below a mount's prefix its application rejects if no route of any mount matches. */
enum mount_unknown {
    UNKNOWN_NONE,
    UNKNOWN_HTML, /* GET and HEAD whose Accept field names text/html: browsers */
    UNKNOWN_ALL,
};

struct mount {
    struct str prefix;                 /* "" or "/v1"; a borrowed string */
    const struct route *const *routes; /* NULL-terminated */
    const struct http_app *app;
    enum mount_unknown unknown;
};

enum { ROUTER_MOUNTS_MAX = 16 };
struct router {
    size_t count;
    struct mount mounts[ROUTER_MOUNTS_MAX]; /* the first that matches is used */
    const struct http_app *fallback;        /* rejects requests that no mount accepts */
};

void router_mount(struct router *router, const struct mount *mount);

/* Sets r->app, r->route and r->path_parameter, and r->step to the step that continues. */
void router_find(const struct router *router, struct request *r);

/* Removes secrets from r->target, which logs show. Also for requests that are rejected before router_find().
 */
void router_hide_secrets(const struct router *router, struct request *r);

/* The name of the request's route; NULL if it has none. */
const char *route_name(const struct request *r);

#endif

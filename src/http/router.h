/* Routes, applications and mounts: the router selects the application and the route that handle a request.
 *
 * A mount makes the routes of an application available below a path prefix. When a request is complete, the
 * server looks up its route and sets r->app, r->route and r->path_parameter, which never change afterwards.
 * If a request is rejected before it is complete, the same application builds the response, so that the error
 * has the format that the client expects. If the path is not known, this is the router's fallback
 * application. */
#ifndef VT_HTTP_ROUTER_H
#define VT_HTTP_ROUTER_H

#include "http/request.h"

enum { ROUTE_GET = 1, ROUTE_POST = 2 }; /* methods; a GET route accepts HEAD too */

/* Which part of a request's URL is a secret and must not be logged: the segment that matches "{…}", or the
 * query. */
enum { ROUTE_SECRET_PATH = 1, ROUTE_SECRET_QUERY = 2 };

struct route {
    const char *path; /* path below the prefix of the mount; if its last segment is "{…}", it matches any
                         segment, which becomes r->path_parameter */
    /* The name in logs and metrics, such as "/v1/videos/{id}"; NULL if it is the same as `path`. */
    const char *name;
    unsigned methods;    /* ROUTE_GET, ROUTE_POST */
    unsigned secrets;    /* ROUTE_SECRET_PATH, ROUTE_SECRET_QUERY */
    unsigned flags;      /* defined by the application */
    request_step *start; /* the endpoint's first step; the application calls it after its own checks */
};

struct http_app {
    void *ctx;
    struct str docs_url; /* URL of the documentation, for error bodies; lives as long as the application */
    /* The first step of a request that matches a route and its methods. */
    request_step *start;
    /* The first step of any other request. r->res.status is 404 if no route matches, or 405 if the route does
     * not accept the method. For 405, this step must complete the response (return NEXT_DONE); the router
     * then adds the Allow field. */
    request_step *no_route;
    /* Optional. Called for an OPTIONS request of a route. Returns true if it has built the response. */
    bool (*preflight)(struct request *r);
    /* Builds the response to a request that the server rejects (400, 408, 413, 414, 417, 431, 500, 501, 503,
     * 505).
     * r->res.status is already set. `message` is an English sentence for the response. */
    void (*reject)(struct request *r, const char *message);
    /* Optional. Adds common header fields. Called for each response just before it is sent, also after
     * reject(). */
    void (*finish)(struct request *r);
};

/* Whether the application of a mount responds to requests that are below the prefix of the mount but match no
 * route of any mount. */
enum mount_unknown {
    UNKNOWN_NONE,
    UNKNOWN_HTML, /* responds only to GET and HEAD with text/html in the Accept field, which browsers send */
    UNKNOWN_ALL,
};

struct mount {
    struct str prefix;                 /* "" or "/v1"; must outlive the router */
    const struct route *const *routes; /* NULL-terminated */
    const struct http_app *app;
    enum mount_unknown unknown;
};

enum { ROUTER_MOUNTS_MAX = 16 };
struct router {
    size_t count;
    struct mount mounts[ROUTER_MOUNTS_MAX]; /* the first match is used */
    const struct http_app *fallback;        /* responds to requests that no mount matches */
};

/* Adds a copy of `mount`. */
void router_mount(struct router *router, const struct mount *mount);

/* Looks up the route of a complete request. Sets r->app, r->route and r->path_parameter, and sets r->step to
 * the first step. */
void router_find_route(const struct router *router, struct request *r);

/* Prepares the rejection of a request. If router_find_route() was not called, sets r->app to the application
 * that would respond, if the path is known. Removes secrets from r->target, which is logged; if the path is
 * unknown, r->target is then empty. */
void router_prepare_rejection(const struct router *router, struct request *r);

/* Returns the name of the request's route, or NULL if no route matches. */
const char *route_name(const struct request *r);

#endif

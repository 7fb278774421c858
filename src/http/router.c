/* Looks up routes. A mount has at most a few dozen routes, so a linear search is fast enough. */
#include "http/router.h"

#include "base/check.h"
#include "http/grammar.h"

void router_mount(struct router *router, const struct mount *mount)
{
    CHECK(router->count < ROUTER_MOUNTS_MAX);
    router->mounts[router->count++] = *mount;
}

/* Returns true if the path is equal to the prefix or below it. Sets `*rest` to the remaining path, which is
 * empty or begins with '/'. */
static bool is_below(struct str path, struct str prefix, struct str *rest)
{
    if (!str_starts_with(path, prefix) || (path.len > prefix.len && path.p[prefix.len] != '/'))
        return false;
    *rest = str_make(path.p + prefix.len, path.len - prefix.len);
    return true;
}

/* Returns the length of a route's path up to its "{…}". */
static size_t fixed_length(const char *path)
{
    return strcspn(path, "{");
}

static bool matches(const struct route *route, struct str path, struct str *parameter)
{
    const struct str fixed = str_make(route->path, fixed_length(route->path));
    if (!route->path[fixed.len])
        return str_eq(path, fixed);
    if (!str_starts_with(path, fixed) || path.len == fixed.len)
        return false;
    *parameter = str_make(path.p + fixed.len, path.len - fixed.len);
    return !memchr(parameter->p, '/', parameter->len);
}

/* Returns NULL if no route matches. */
static const struct mount *find_mount(const struct router *router, const struct request *r,
                                      const struct route **found, struct str *parameter)
{
    for (size_t i = 0; i < router->count; i++) {
        const struct mount *mount = &router->mounts[i];
        struct str rest;
        if (!is_below(r->path, mount->prefix, &rest))
            continue;
        for (const struct route *const *route = mount->routes; *route; route++)
            if (matches(*route, rest, parameter)) {
                *found = *route;
                return mount;
            }
    }
    return NULL;
}

static bool accepts_html(const struct request *r)
{
    const struct str accept = r->field[FIELD_ACCEPT];
    return (r->method == METHOD_GET || r->method == METHOD_HEAD) && accept.p &&
           memmem(accept.p, accept.len, "text/html", 9);
}

static const struct http_app *find_app_of_unknown(const struct router *router, const struct request *r)
{
    for (size_t i = 0; i < router->count; i++) {
        const struct mount *mount = &router->mounts[i];
        struct str rest;
        bool rejects = mount->unknown == UNKNOWN_ALL || (mount->unknown == UNKNOWN_HTML && accepts_html(r));
        if (rejects && is_below(r->path, mount->prefix, &rest) && rest.len)
            return mount->app;
    }
    return router->fallback;
}

static bool accepts_method(const struct route *route, enum http_method m)
{
    return (route->methods & ROUTE_GET && (m == METHOD_GET || m == METHOD_HEAD)) ||
           (route->methods & ROUTE_POST && m == METHOD_POST);
}

static enum next not_found_step(struct request *r)
{
    r->res.status = 404;
    return r->app->no_route(r);
}

static enum next wrong_method_step(struct request *r)
{
    static const struct str allowed[] = {[ROUTE_GET] = {"GET, HEAD", 9},
                                         [ROUTE_POST] = {"POST", 4},
                                         [ROUTE_GET | ROUTE_POST] = {"GET, HEAD, POST", 15}};
    if (r->method == METHOD_OPTIONS && r->app->preflight && r->app->preflight(r))
        return NEXT_DONE;
    r->res.status = 405;
    enum next next = r->app->no_route(r);
    CHECK(next == NEXT_DONE);
    response_add_field(r, STR("Allow"), allowed[r->route->methods]);
    return next;
}

/* Removes secrets from r->target, which is logged. */
static void hide_secrets(const struct router *router, struct request *r)
{
    for (size_t i = 0; i < router->count; i++) {
        struct str rest;
        if (!is_below(r->path, router->mounts[i].prefix, &rest))
            continue;
        for (const struct route *const *route = router->mounts[i].routes; *route; route++) {
            struct str fixed = str_make((*route)->path, fixed_length((*route)->path));
            if (fixed.len && fixed.p[fixed.len - 1] == '/')
                fixed.len--; /* also hides a secret that does not follow a slash, because the client may have
                                mistyped the address */
            if (!(*route)->secrets || !str_starts_with(rest, fixed))
                continue;
            r->target = (*route)->secrets & ROUTE_SECRET_PATH ? STR("(secret address)") : r->path;
        }
    }
}

void router_find_route(const struct router *router, struct request *r)
{
    hide_secrets(router, r);
    const struct mount *mount = find_mount(router, r, &r->route, &r->path_parameter);
    if (!mount) {
        r->app = find_app_of_unknown(router, r);
        r->step = not_found_step;
        return;
    }
    r->app = mount->app;
    r->step = accepts_method(r->route, r->method) ? r->app->start : wrong_method_step;
}

/* Finds the path of a request that was rejected before the end of its target was read. The path is complete
 * if a query follows it. Removes from r->target what may contain a secret: the query, or everything if the
 * path remains unknown. */
static void find_path(struct request *r)
{
    struct str path, query;
    if (r->target.p && memchr(r->target.p, '?', r->target.len) &&
        grammar_split_target(r->target, &path, &query))
        r->path = path;
    r->target = r->path;
}

void router_prepare_rejection(const struct router *router, struct request *r)
{
    const struct route *route;
    struct str parameter;
    if (!r->path.p)
        find_path(r);
    hide_secrets(router, r);
    if (r->route || !r->path.p)
        return;
    const struct mount *mount = find_mount(router, r, &route, &parameter);
    r->app = mount ? mount->app : find_app_of_unknown(router, r);
}

const char *route_name(const struct request *r)
{
    if (!r->route)
        return NULL;
    return r->route->name ? r->route->name : r->route->path;
}

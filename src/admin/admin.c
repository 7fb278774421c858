/* Implements the admin listener and its three pages: /metrics, /livez and /readyz. */
#include "admin/admin.h"

#include "admin/readiness.h"
#include "admin/metrics_page.h"
#include "base/check.h"
#include "config/config_list.h"

#include <stdlib.h>

enum {
    HEAD_BYTES = 8 << 10,
    TARGET_BYTES = 1 << 10,
    FIELD_LINES = 50,
    CONNECTIONS = 32, /* maximum number of connections; so few that the file descriptors that the API's HTTP
                         server reserves for other uses are enough for them */
    REQUEST_MS = 10000,
    IDLE_MS = 150000, /* idle time that exceeds a scrape interval, so that Prometheus reuses its connection */
    DRAIN_MS = 200,
};

struct admin {
    const struct admin_view *view;
    struct http_app app;
    struct router router;
    struct http_server *server;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* ---- responses ---- */

static const struct str TEXT_TYPE = {"text/plain; charset=utf-8", 25};

static enum next send_text(struct request *r, int status, struct str line)
{
    r->res.status = status;
    r->res.content_type = TEXT_TYPE;
    buf_append(&r->res.body, line);
    buf_append_char(&r->res.body, '\n');
    return NEXT_DONE;
}

static enum next send_livez(struct request *r)
{
    return send_text(r, 200, STR("alive"));
}

static enum next send_readyz(struct request *r)
{
    const struct admin *a = r->app->ctx;
    struct buf line;
    buf_init(&line, 1024);
    enum readiness readiness = readiness_check(a->view, &line);
    (void)send_text(r, readiness == READINESS_NOT_READY ? 503 : 200, buf_str(&line));
    buf_fini(&line);
    return NEXT_DONE;
}

static enum next send_metrics(struct request *r)
{
    const struct admin *a = r->app->ctx;
    r->res.status = 200;
    r->res.content_type = STR("text/plain; version=0.0.4; charset=utf-8");
    metrics_page_write(a->view, &r->res.body);
    return NEXT_DONE;
}

static const struct route metrics_route = {.path = "/metrics", .methods = ROUTE_GET, .start = send_metrics};
static const struct route livez_route = {.path = "/livez", .methods = ROUTE_GET, .start = send_livez};
static const struct route readyz_route = {.path = "/readyz", .methods = ROUTE_GET, .start = send_readyz};
static const struct route *const routes[] = {&metrics_route, &livez_route, &readyz_route, NULL};

static enum next start_step(struct request *r)
{
    return r->route->start(r);
}

static enum next no_route_step(struct request *r)
{
    return send_text(r, r->res.status,
                     r->route ? STR("This page accepts GET and HEAD only.")
                              : STR("Page not found. There are /metrics, /livez and /readyz."));
}

static void finish(struct request *r)
{
    response_add_field(r, STR("Cache-Control"), STR("no-store"));
    response_add_field(r, STR("X-Content-Type-Options"), STR("nosniff"));
}

static void reject(struct request *r, const char *message)
{
    (void)send_text(r, r->res.status, str_from_cstr(message));
}

/* ---- the listener ---- */

enum err admin_open(struct admin **out, uv_loop_t *loop, const struct admin_view *view, const int *passed,
                    size_t passed_count, struct error *error)
{
    struct config_list listen;
    struct admin *a = xcalloc(1, sizeof *a);
    a->view = view;
    a->app = (struct http_app){
        .ctx = a, .start = start_step, .no_route = no_route_step, .reject = reject, .finish = finish};
    a->router.fallback = &a->app;
    router_mount(&a->router, &(struct mount){.prefix = STR(""), .routes = routes, .app = &a->app});
    config_list_init(&listen, passed_count ? "" : view->config->admin.listen);
    const struct http_options options = {
        .limits = {.head_bytes = HEAD_BYTES,
                   .target_bytes = TARGET_BYTES,
                   .field_lines = FIELD_LINES,
                   .max_connections = CONNECTIONS,
                   .header_timeout_ms = REQUEST_MS,
                   .body_timeout_ms = REQUEST_MS,
                   .idle_timeout_ms = IDLE_MS,
                   .write_timeout_ms = REQUEST_MS,
                   .request_timeout_ms = REQUEST_MS,
                   .drain_ms = DRAIN_MS},
        .listen = (const char *const *)listen.texts.items,
        .listen_count = listen.texts.count,
        .passed = passed,
        .passed_count = passed_count,
        .key = "[admin] listen",
        .router = &a->router,
    };
    enum err err = http_server_open(&a->server, loop, &options, error);
    config_list_fini(&listen);
    if (err) {
        free(a);
        return err;
    }
    *out = a;
    return OK;
}

static void on_server_closed(void *ctx)
{
    struct admin *a = ctx;
    void (*closed)(void *) = a->closed;
    void *closed_ctx = a->closed_ctx;
    free(a);
    closed(closed_ctx);
}

void admin_print_addresses(const struct admin *a)
{
    http_server_print_addresses(a->server, "admin listening on");
}

void admin_close(struct admin *a, void (*closed)(void *ctx), void *ctx)
{
    a->closed = closed;
    a->closed_ctx = ctx;
    http_server_close(a->server, on_server_closed, a);
}

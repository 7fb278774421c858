/* Each request has its own client, because pings are minutes apart and the URL may change. */
#include "net/ping.h"

#include "base/check.h"
#include "base/log.h"
#include "base/str.h"
#include "net/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 15000, BODY_MAX = 64 * 1024, ORIGIN_MAX = 300, PATH_MAX_BYTES = 1100 };

struct ping {
    uv_loop_t *loop;
    const char *name;
    struct http_client *client; /* client of the request in flight; NULL when its handles are closed */
    bool client_is_closing;
    bool is_failing; /* the most recent request failed */
    bool is_closed;
    struct ping_counts counts;
    char origin[ORIGIN_MAX], path[PATH_MAX_BYTES];
};

struct ping *ping_new(uv_loop_t *loop, const char *name)
{
    struct ping *p = xcalloc(1, sizeof *p);
    p->loop = loop;
    p->name = name;
    return p;
}

/* Splits "https://host/path?query" into origin and path. */
static bool split(struct ping *p, const char *url)
{
    const char *host = strstr(url, "://");
    const size_t scheme = host ? (size_t)(host - url) + 3 : 0;
    const size_t origin = scheme + strcspn(url + scheme, "/?");
    const char *rest = url + origin;
    if (!host || origin >= sizeof p->origin)
        return false;
    (void)snprintf(p->origin, sizeof p->origin, "%.*s", (int)origin, url);
    const int n = snprintf(p->path, sizeof p->path, "%s%s", *rest == '/' ? "" : "/", rest);
    return n > 0 && (size_t)n < sizeof p->path;
}

static void record(struct ping *p, const char *why)
{
    if (!why) {
        p->counts.succeeded++;
        if (p->is_failing)
            log_info("%s: ping_url (%s) responds again", p->name, p->origin);
    } else {
        p->counts.failed++;
        if (!p->is_failing)
            log_warn("%s: the request to ping_url (%s) failed: %s", p->name, p->origin, why);
    }
    p->is_failing = why != NULL;
}

static void on_client_closed(void *ctx)
{
    struct ping *p = ctx;
    p->client = NULL;
    p->client_is_closing = false;
    if (p->is_closed)
        free(p);
}

static void close_client(struct ping *p)
{
    p->client_is_closing = true;
    http_client_close(p->client, on_client_closed, p);
}

static void on_response(void *ctx, const struct http_result *result)
{
    struct ping *p = ctx;
    char why[400];
    if (result->error != TRANSPORT_OK) {
        (void)snprintf(why, sizeof why, "%s: %s", transport_error_name(result->error), result->why);
        record(p, why);
    } else if (result->response.status / 100 != 2) {
        (void)snprintf(why, sizeof why, "status %d", result->response.status);
        record(p, why);
    } else {
        record(p, NULL);
    }
    close_client(p);
}

void ping_send(struct ping *p, const char *url)
{
    if (!*url || p->is_closed)
        return;
    if (p->client) {
        record(p, "the previous request is still in flight");
        return;
    }
    if (!split(p, url)) {
        record(p, "the URL is too long");
        return;
    }
    const struct http_client_options options = {
        .allow_http = strncmp(p->origin, "http:", 5) == 0,
        .connect_timeout_ms = TIMEOUT_MS,
        .timeout_ms = TIMEOUT_MS,
        .body_max = BODY_MAX,
        .host_connections = 1,
    };
    const struct http_request request = {
        .origin = p->origin, .method = "GET", .path = str_from_cstr(p->path)};
    p->client = http_client_new(p->loop, &options);
    if (p->client)
        (void)http_client_send(p->client, &request, on_response, p);
    else
        record(p, "out of memory");
}

const struct ping_counts *ping_get_counts(const struct ping *p)
{
    return &p->counts;
}

void ping_close(struct ping *p)
{
    p->is_closed = true;
    if (!p->client)
        free(p);
    else if (!p->client_is_closing)
        close_client(p);
}

bool ping_send_blocking(const char *name, const char *url)
{
    uv_loop_t loop;
    CHECK(uv_loop_init(&loop) == 0);
    struct ping *p = ping_new(&loop, name);
    ping_send(p, url);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    const bool ok = !p->counts.failed;
    ping_close(p);
    CHECK(uv_loop_close(&loop) == 0);
    return ok;
}

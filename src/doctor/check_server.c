/* Checks whether the server runs, and what clients and operators can reach: base_url, the admin listener,
 * proxies. */
#include "base/check.h"
#include "base/plural.h"
#include "cli/local_get.h"
#include "doctor/doctor.h"
#include "net/http_client.h"

#include <stdio.h>
#include <stdlib.h>

enum { CONNECT_MS = 2000, TIMEOUT_MS = 4000, URL_MAX = 600, BODY_MAX = 4 << 20 };

static bool is_loopback_url(const char *url)
{
    return strstr(url, "://127.") || strstr(url, "://[::1]") || strstr(url, "://localhost");
}

static void check_base_url(struct doctor *d)
{
    const char *url = d->config->server.base_url;
    if (!config_is_set(d->config, "server", "base_url"))
        doctor_warn(d,
                    "set [server] base_url to the URL that clients use, such as https://stats.example.com/v1",
                    "base_url has its default %s, so links for authors lead to this machine only", url);
    else if (strncmp(url, "http://", 7) == 0 && !is_loopback_url(url))
        doctor_warn(d, "set up TLS in nginx (packaging/nginx/viewtally.conf) and use https:// in base_url",
                    "base_url is %s: API keys and passwords are sent without encryption", url);
    else
        doctor_ok(d, "base_url is %s", url);
}

/* ---- a request to base_url ---- */

struct trial_request {
    bool is_over;
    enum transport_error transport;
    int status;
    bool is_ours; /* the body is our OpenAPI document */
    char why[200];
};

static void on_response(void *ctx, const struct http_result *result)
{
    struct trial_request *t = ctx;
    t->is_over = true;
    t->transport = result->error;
    (void)snprintf(t->why, sizeof t->why, "%s",
                   result->why ? result->why : transport_error_name(result->error));
    if (result->error)
        return;
    t->status = result->response.status;
    t->is_ours = memmem(result->response.body.p, result->response.body.len, "\"openapi\"", 9) != NULL;
}

static void on_closed(void *ctx)
{
    (void)ctx;
}

static void send_trial(struct trial_request *t, const struct config *c)
{
    char origin[URL_MAX], path[URL_MAX];
    uv_loop_t loop;
    (void)snprintf(origin, sizeof origin, "%s", c->server.base_url);
    char *slash = strchr(strstr(origin, "://") + 3, '/');
    (void)snprintf(path, sizeof path, "%s/openapi.json", slash);
    *slash = '\0';
    const struct http_client_options options = {.allow_http = strncmp(origin, "http://", 7) == 0,
                                                .connect_timeout_ms = CONNECT_MS,
                                                .timeout_ms = TIMEOUT_MS,
                                                .body_max = BODY_MAX,
                                                .host_connections = 1};
    const struct http_request request = {.origin = origin, .method = "GET", .path = str_from_cstr(path)};
    CHECK(uv_loop_init(&loop) == 0);
    struct http_client *client = http_client_new(&loop, &options);
    CHECK(client);
    (void)http_client_send(client, &request, on_response, t);
    while (!t->is_over && uv_run(&loop, UV_RUN_ONCE))
        continue;
    http_client_close(client, on_closed, NULL);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
}

static void check_reachable(struct doctor *d)
{
    struct trial_request t = {.is_over = false};
    const char *url = d->config->server.base_url;
    char fix[URL_MAX + 100];
    (void)snprintf(fix, sizeof fix, "check the host name, the certificate and nginx: curl -v %s/openapi.json",
                   url);
    send_trial(&t, d->config);
    if (t.transport == TRANSPORT_CONNECT || t.transport == TRANSPORT_TIMEOUT)
        doctor_warn(d,
                    "make sure that the server and nginx are running (systemctl start viewtally nginx); a "
                    "firewall may also prevent connections from this machine",
                    "%s does not respond from here: %s", url, t.why);
    else if (t.transport)
        doctor_error(d, fix, "%s cannot be used: %s", url, t.why);
    else if (t.status != 200 || !t.is_ours)
        doctor_error(d, "compare nginx with packaging/nginx/viewtally.conf (server_name, proxy_pass)",
                     "%s/openapi.json is served by something else, or the server is not running: status %d",
                     url, t.status);
    else
        doctor_ok(d, "%s responds", url);
}

/* ---- units and readiness of the server processes ---- */

static void check_units(struct doctor *d)
{
    size_t enabled = 0, bad = 0;
    char fix[300];
    for (size_t i = 0; i < d->units->count; i++) {
        const struct server_unit *u = &d->units->items[i];
        const int n = (int)u->name.len;
        enabled += u->is_enabled;
        if (!u->is_enabled || u->is_running || u->is_starting)
            continue;
        bad++;
        (void)snprintf(
            fix, sizeof fix,
            "journalctl -u %.*s -n 20 shows the cause; after correcting it: systemctl restart %.*s", n,
            u->name.p, n, u->name.p);
        doctor_error(d, fix, "%.*s is enabled, but does not run (%.*s)", n, u->name.p, (int)u->state.len,
                     u->state.p);
    }
    if (!d->units->count)
        doctor_skip(d, "systemd has no unit that runs a server with this configuration");
    else if (!enabled)
        doctor_warn(d, "systemctl enable --now viewtally", "no unit is enabled, so no server starts at boot");
    else if (!bad)
        doctor_ok(d, "%zu enabled unit%s", enabled, plural((int64_t)enabled, " runs", "s run"));
}

struct first_item {
    char text[200];
};

static void take_first(void *ctx, struct str item)
{
    struct first_item *first = ctx;
    if (!*first->text)
        (void)snprintf(first->text, sizeof first->text, "%.*s", (int)item.len, item.p);
}

/* Requests /readyz from the first address of `listen` and reports the result. `unit` is the name of the unit
 * that runs the server, or "" if no unit does. If the server does not respond, reports an error if a unit
 * runs it, otherwise a warning. */
static void report_readiness(struct doctor *d, const char *listen, const char *unit)
{
    struct first_item address = {""};
    struct buf body;
    struct str line;
    struct error error;
    int status = 0;
    char fix[300];
    (void)snprintf(fix, sizeof fix, "journalctl -u %s -n 20 shows the cause; then systemctl restart %s", unit,
                   unit);
    config_each_item(listen, take_first, &address);
    buf_init(&body, BODY_MAX);
    const enum err err = local_get(address.text, "/readyz", TIMEOUT_MS, &status, &body, &error);
    (void)str_cut(buf_str(&body), '\n', &line);
    if (err == ERR_INVALID)
        doctor_skip(d, "[admin] listen is not set, or its port is 0");
    else if (err && *unit)
        doctor_error(d, fix, "%s runs, but does not respond: %s", unit, error.text);
    else if (err)
        doctor_warn(d, "start the server, or correct [admin] listen", "no server responds: %s", error.text);
    else if (status == 200)
        doctor_ok(d, "the server at %s responds: %.*s", address.text, (int)line.len, line.p);
    else
        doctor_error(d, "correct the cause; /readyz of the admin listener shows it",
                     "the server at %s is not ready (status %d): %.*s", address.text, status, (int)line.len,
                     line.p);
    buf_fini(&body);
}

static void check_readiness(struct doctor *d)
{
    char listen[300], name[100];
    size_t running = 0, expected = 0;
    for (size_t i = 0; i < d->units->count; i++) {
        const struct server_unit *u = &d->units->items[i];
        expected += u->is_enabled;
        if (!u->is_running)
            continue;
        running++;
        (void)snprintf(name, sizeof name, "%.*s", (int)u->name.len, u->name.p);
        (void)snprintf(listen, sizeof listen, "%.*s", (int)u->admin_listen.len, u->admin_listen.p);
        report_readiness(d, *listen ? listen : d->config->admin.listen, name);
    }
    if (!running && expected)
        doctor_skip(d, "no unit runs");
    else if (!running)
        report_readiness(d, d->config->admin.listen, "");
}

/* ---- listeners and proxies ---- */

struct exposed {
    char address[200];
};

static void find_exposed(void *ctx, struct str item)
{
    struct exposed *e = ctx;
    if (!str_starts_with(item, STR("127.")) && !str_starts_with(item, STR("[::1]")) &&
        !str_starts_with(item, STR("unix:")))
        (void)snprintf(e->address, sizeof e->address, "%.*s", (int)item.len, item.p);
}

static void check_admin(struct doctor *d)
{
    struct exposed e = {""};
    config_each_item(d->config->admin.listen, find_exposed, &e);
    if (!*d->config->admin.listen)
        doctor_warn(d, "set [admin] listen = 127.0.0.1:9187",
                    "there is no admin listener, so nothing can watch the "
                    "server");
    else if (*e.address)
        doctor_warn(d, "listen on 127.0.0.1, or let a firewall admit only the monitoring system",
                    "[admin] listen %s is reachable from other machines without authentication", e.address);
    else
        doctor_ok(d, "the admin listener can be reached only from this machine");
}

static void find_all_addresses(void *ctx, struct str item)
{
    if (item.len >= 2 && memcmp(item.p + item.len - 2, "/0", 2) == 0)
        *(struct str *)ctx = item;
}

static void check_proxies(struct doctor *d)
{
    const struct config *c = d->config;
    struct str all = STR("");
    config_each_item(c->server.trusted_proxies, find_all_addresses, &all);
    if (all.len)
        doctor_error(
            d, "list only the addresses of the proxies in [server] trusted_proxies",
            "trusted_proxies contains %.*s, so every client can choose the address%s that the server "
            "uses for it",
            (int)all.len, all.p, *c->account.auth_header ? " and the author" : "");
    else if (*c->server.trusted_proxies)
        doctor_ok(d, "trusted proxies: %s", c->server.trusted_proxies);
    else if (strncmp(c->server.base_url, "https://", 8) == 0)
        doctor_error(
            d, "set [server] trusted_proxies = 127.0.0.1 (or unix for a Unix socket)",
            "a proxy terminates TLS, but trusted_proxies is empty: all clients share one address, and one "
            "of them can slow down the sign-in of all");
    else
        doctor_ok(d, "no trusted proxy is configured, and base_url does not need one");
}

static const struct doctor_check checks[] = {
    {"base_url", NEEDS_CONFIG, check_base_url}, {"units", NEEDS_CONFIG, check_units},
    {"ready", NEEDS_CONFIG, check_readiness},   {"reachable", NEEDS_CONFIG, check_reachable},
    {"admin", NEEDS_CONFIG, check_admin},       {"trusted_proxies", NEEDS_CONFIG, check_proxies},
};
const struct doctor_group doctor_server = DOCTOR_GROUP("server", checks);

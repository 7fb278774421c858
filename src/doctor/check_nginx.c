/* Checks the configuration of an nginx that passes requests to viewtally. The example configuration,
 * packaging/nginx/viewtally.conf, passes all of these checks. */
#include "base/plural.h"
#include "doctor/doctor.h"

#include "doctor/nginx_logs.h"
#include "doctor/nginx_view.h"
#include "http/proxies.h"

#include <stdio.h>

enum { LONG_POLL_MS = 55000 };

/* Returns the view of the nginx configuration, which the first call reads. Returns NULL if the configuration
 * has no proxy_pass to viewtally; the check nginx.proxy reports this. */
static struct nginx_view *view_of(struct doctor *d)
{
    if (!d->nginx)
        d->nginx = nginx_view_read(d->nginx_file, d->config);
    return d->nginx->proxies.count ? d->nginx : NULL;
}

static void check_proxy(struct doctor *d)
{
    if (!d->nginx)
        d->nginx = nginx_view_read(d->nginx_file, d->config);
    const struct nginx_view *v = d->nginx;
    if (v->source == NGINX_ABSENT)
        doctor_skip(d, "%s", v->error.text);
    else if (v->source == NGINX_UNREADABLE)
        doctor_warn(d,
                    d->nginx_file
                        ? "correct the file, or name a file with the output of nginx -T"
                        : "run viewtally doctor as root, or name the configuration with --nginx FILE",
                    "the configuration of nginx cannot be read: %s", v->error.text);
    else if (v->proxies.count)
        doctor_ok(d, "%zu location%s to viewtally", v->proxies.count,
                  plural(v->proxies.count, " leads", "s lead"));
    else if (d->nginx_file && v->lacks_includes)
        doctor_warn(d, "name a file with the output of nginx -T, which also contains the included files",
                    "%s has no proxy_pass to [server] listen (%s), but it includes files, which are not read",
                    d->nginx_file, d->config->server.listen);
    else if (d->nginx_file || *d->config->server.trusted_proxies)
        doctor_warn(
            d,
            "sudo cp packaging/nginx/viewtally.conf /etc/nginx/conf.d/ && sudo nginx -t && sudo systemctl "
            "reload nginx",
            "nginx has no proxy_pass to [server] listen (%s)", d->config->server.listen);
    else
        doctor_skip(d, "nginx on this machine does not serve viewtally");
}

/* ---- connections from nginx to viewtally ---- */

static bool sets_field(const struct nginx_directive *location, const char *field, struct str *value)
{
    const struct nginx_directive *block = nginx_find_inherited(location, "proxy_set_header"), *d = NULL;
    while (block && (d = nginx_next_child(block, d, "proxy_set_header")))
        if (str_eq_nocase(nginx_word(d, 1), str_from_cstr(field))) {
            *value = nginx_word(d, 2);
            return true;
        }
    return false;
}

/* Checks that nginx keeps connections to viewtally open, and closes idle ones before viewtally does. Returns
 * true after reporting a finding. */
static bool check_upstream(struct doctor *d, const struct nginx_proxy *p)
{
    struct str connection;
    if (!p->upstream || !nginx_next_child(p->upstream, NULL, "keepalive")) {
        doctor_warn(d, "use an upstream block with keepalive 64 (packaging/nginx/viewtally.conf)",
                    "nginx opens a new connection to viewtally for each request (%.*s:%d)",
                    (int)p->location->file.len, p->location->file.p, p->location->line);
        return true;
    }
    const struct nginx_directive *set = nginx_next_child(p->upstream, NULL, "keepalive_timeout");
    const int64_t timeout_ms = set ? nginx_parse_time(nginx_word(set, 1)) : 60000;
    const int64_t idle_ms = d->config->server.idle_timeout_ms;
    if (timeout_ms >= idle_ms) {
        const struct nginx_directive *at = set ? set : p->upstream;
        doctor_error(d,
                     "set keepalive_timeout in the upstream block below [server] idle_timeout_ms, such as "
                     "60s and 75000",
                     "nginx keeps idle connections for %lld s, viewtally for %lld s: some requests end with "
                     "status 502 "
                     "(%.*s:%d)",
                     (long long)timeout_ms / 1000, (long long)idle_ms / 1000, (int)at->file.len, at->file.p,
                     at->line);
        return true;
    }
    if (!str_eq(nginx_value(p->location, "proxy_http_version", STR("1.0")), STR("1.1")) ||
        !sets_field(p->location, "Connection", &connection) || connection.len) {
        doctor_warn(
            d, "proxy_http_version 1.1; and proxy_set_header Connection \"\";",
            "nginx closes each connection to viewtally, because it uses HTTP/1.0 or the field Connection "
            "(%.*s:%d)",
            (int)p->location->file.len, p->location->file.p, p->location->line);
        return true;
    }
    return false;
}

static void check_keepalive(struct doctor *d)
{
    const struct nginx_view *v = view_of(d);
    for (size_t i = 0; v && i < v->proxies.count; i++)
        if (check_upstream(d, &v->proxies.items[i]))
            return;
    if (v)
        doctor_ok(d, "nginx closes idle connections before viewtally does");
}

static void check_timeout(struct doctor *d)
{
    const struct nginx_view *v = view_of(d);
    for (size_t i = 0; v && i < v->proxies.count; i++) {
        const struct nginx_directive *location = v->proxies.items[i].location;
        const int64_t ms = nginx_parse_time(nginx_value(location, "proxy_read_timeout", STR("60s")));
        if (ms > LONG_POLL_MS)
            continue;
        doctor_error(d, "proxy_read_timeout 65s;",
                     "nginx gives up after %lld s, but a long poll takes up to 55 s "
                     "(%.*s:%d)",
                     (long long)ms / 1000, (int)location->file.len, location->file.p, location->line);
        return;
    }
    if (v)
        doctor_ok(d, "nginx waits long enough for long polls");
}

/* ---- header fields ---- */

/* Checks that a client cannot choose its own address with X-Forwarded-For. Returns true after reporting a
 * finding. */
static bool check_forwarded_for(struct doctor *d, const struct nginx_directive *location)
{
    struct str value;
    const char *fix = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;";
    if (!sets_field(location, "X-Forwarded-For", &value)) {
        doctor_error(d, fix,
                     "%.*s:%d does not set X-Forwarded-For, so a client can choose its address or all "
                     "clients share one",
                     (int)location->file.len, location->file.p, location->line);
        return true;
    }
    if (nginx_has_variable(value, "http_x_forwarded_for")) {
        doctor_error(d, fix, "%.*s:%d forwards the X-Forwarded-For of the client, who can choose the address",
                     (int)location->file.len, location->file.p, location->line);
        return true;
    }
    return false;
}

/* Checks that viewtally trusts the X-Forwarded-For of nginx. Returns true after reporting that it does not.
 * Does nothing with --nginx, because nginx may then run on another machine, whose address is unknown. */
static bool check_trusted(struct doctor *d, struct str address)
{
    struct proxies proxies = {0};
    struct str rest = str_from_cstr(d->config->server.trusted_proxies), item;
    const bool is_unix = str_starts_with(address, STR("unix:"));
    while (rest.p) {
        rest = str_cut(rest, ',', &item);
        if (item.len)
            (void)proxies_add(&proxies, item);
    }
    if (d->nginx_file || proxies_is_trusted(&proxies, is_unix ? STR("") : STR("127.0.0.1"), is_unix) ||
        (!is_unix && proxies_is_trusted(&proxies, STR("::1"), false)))
        return false;
    doctor_error(
        d, is_unix ? "add unix to [server] trusted_proxies" : "add 127.0.0.1 to [server] trusted_proxies",
        "the address of nginx on this machine is not in [server] trusted_proxies, so all clients share this "
        "address");
    return true;
}

static bool check_auth_field(struct doctor *d, const struct nginx_directive *location)
{
    struct str value;
    const char *field = d->config->account.auth_header;
    if (!*field || sets_field(location, field, &value))
        return false;
    doctor_error(d,
                 "set the field in every location: proxy_set_header FIELD $remote_user; (or \"\" in a "
                 "location without authentication)",
                 "%.*s:%d forwards a client's own %s, with which the client can sign in as any author",
                 (int)location->file.len, location->file.p, location->line, field);
    return true;
}

static void check_fields(struct doctor *d)
{
    const struct nginx_view *v = view_of(d);
    for (size_t i = 0; v && i < v->proxies.count; i++) {
        const struct nginx_proxy *p = &v->proxies.items[i];
        if (check_auth_field(d, p->location) || check_forwarded_for(d, p->location) ||
            check_trusted(d, p->address))
            return;
    }
    if (v)
        doctor_ok(d, "nginx sets the forwarded fields, and viewtally trusts them");
}

/* ---- secrets in the logs of nginx ---- */

static void check_access_log(struct doctor *d)
{
    const struct nginx_view *v = view_of(d);
    struct error why = {0};
    if (!v)
        return;
    if (nginx_access_log_can_have_secrets(v, d->config->server.base_url, &why))
        doctor_error(d, "use the log_format and the locations of packaging/nginx/viewtally.conf", "%s",
                     why.text);
    else
        doctor_ok(d, "the access log contains no invitations, codes or cookies");
}

static void check_error_log(struct doctor *d)
{
    const struct nginx_view *v = view_of(d);
    struct error why = {0};
    if (!v)
        return;
    if (nginx_error_log_can_have_secrets(v, &why))
        doctor_warn(
            d,
            "packaging/nginx/viewtally.conf has a location for such paths, with `error_log … emerg`: add it",
            "%s", why.text);
    else
        doctor_ok(d, "the error log contains no invitations or codes");
}

static const struct doctor_check checks[] = {
    {"proxy", NEEDS_CONFIG, check_proxy},           {"keepalive", NEEDS_CONFIG, check_keepalive},
    {"timeout", NEEDS_CONFIG, check_timeout},       {"fields", NEEDS_CONFIG, check_fields},
    {"access_log", NEEDS_CONFIG, check_access_log}, {"error_log", NEEDS_CONFIG, check_error_log},
};
const struct doctor_group doctor_nginx = DOCTOR_GROUP("nginx", checks);

/* Writes the envelopes of JSON responses, and the header fields that all responses have in common. */
#include "api/envelope.h"

#include "auth/api_key.h"
#include "base/error.h"
#include "base/log.h"
#include "config/config.h"
#include "http/router.h"

#include <stdarg.h>

static const struct {
    int status;
    const char *code;
} errors[] = {
    [API_MISSING_KEY] = {401, "missing_api_key"},   [API_INVALID_KEY] = {401, "invalid_api_key"},
    [API_REVOKED_KEY] = {401, "api_key_revoked"},   [API_PLAN_INACTIVE] = {403, "plan_inactive"},
    [API_RATE_LIMITED] = {429, "rate_limited"},     [API_INVALID_PARAMETER] = {400, "invalid_parameter"},
    [API_RANGE_TOO_LONG] = {400, "range_too_long"}, [API_NOT_FOUND] = {404, "not_found"},
    [API_WRONG_METHOD] = {405, "not_found"},        [API_INTERNAL] = {500, "internal_error"},
    [API_UNAVAILABLE] = {503, "internal_error"},
};

static const struct str JSON_TYPE = {"application/json; charset=utf-8", 31};
static const struct str RETRY_AFTER_S = {"5", 1};

/* Returns the URL of the section about an error code in the guide "Errors". */
static struct str doc_url_of(struct request *r, const char *code)
{
    const struct str docs = r->app->docs_url;
    return arena_printf(&r->arena, "%.*s/errors#%s", (int)docs.len, docs.p ? docs.p : "", code);
}

/* Writes the body of an error response. `param` is NULL if the error is not about a parameter. */
static void write_error(struct request *r, const char *code, struct str message, const char *param)
{
    struct buf *b = &r->res.body;
    r->res.content_type = JSON_TYPE;
    json_open(b, '{');
    JSON_BOOL(b, "success", false);
    JSON_KEY(b, "error");
    json_open(b, '{');
    JSON_STR(b, "code", str_from_cstr(code));
    JSON_STR(b, "message", message);
    if (param)
        JSON_STR(b, "param", str_from_cstr(param));
    JSON_STR(b, "doc_url", doc_url_of(r, code));
    JSON_STR(b, "request_id", r->id);
    json_close(b, '}');
    json_close(b, '}');
}

static enum next reject(struct request *r, enum api_error error, const char *param, struct str message)
{
    response_reset(r);
    r->res.status = errors[error].status;
    if (r->res.status == 401)
        response_add_field(r, STR("WWW-Authenticate"), STR("Bearer"));
    if (r->res.status == 503)
        response_add_field(r, STR("Retry-After"), RETRY_AFTER_S);
    write_error(r, errors[error].code, message, param);
    return NEXT_DONE;
}

enum next envelope_error(struct request *r, enum api_error error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct str message = arena_vprintf(&r->arena, fmt, ap);
    va_end(ap);
    return reject(r, error, NULL, message);
}

enum next envelope_param_error(struct request *r, enum api_error error, const char *param, const char *fmt,
                               ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct str message = arena_vprintf(&r->arena, fmt, ap);
    va_end(ap);
    return reject(r, error, param, message);
}

enum next envelope_store_error(struct request *r, enum err err)
{
    if (r->res.streaming)
        return request_abort(r, err_name(err));
    if (err == ERR_NOMEM)
        return envelope_error(r, API_UNAVAILABLE, "The server is out of memory. Retry in a few seconds.");
    return envelope_error(r, API_UNAVAILABLE, "The database is unavailable. Retry in a few seconds.");
}

enum next envelope_data_changed(struct request *r)
{
    if (r->res.streaming)
        return request_abort(r, "the data changed while the response was sent");
    return envelope_error(r, API_UNAVAILABLE,
                          "The data changed while it was being read. Retry in a few seconds.");
}

enum next envelope_no_route(struct request *r)
{
    if (r->res.status == 404)
        return envelope_error(r, API_NOT_FOUND, "There is no endpoint at this path.");
    return envelope_error(r, API_WRONG_METHOD, "This endpoint accepts %s only.",
                          r->route->methods & ROUTE_GET ? "GET and HEAD" : "POST");
}

void envelope_reject(struct request *r, const char *message)
{
    bool is_server_error = r->res.status >= 500 && r->res.status != 505;
    if (r->res.status == 503)
        response_add_field(r, STR("Retry-After"), RETRY_AFTER_S);
    write_error(r, is_server_error ? "internal_error" : "invalid_parameter", str_from_cstr(message), NULL);
}

struct buf *envelope_begin(struct request *r)
{
    r->res.status = 200;
    r->res.content_type = JSON_TYPE;
    json_open(&r->res.body, '{');
    JSON_BOOL(&r->res.body, "success", true);
    return &r->res.body;
}

enum next envelope_end(struct request *r)
{
    json_close(&r->res.body, '}');
    if (!r->res.body.failed)
        return NEXT_DONE;
    if (r->res.streaming)
        return request_abort(r, "response too large");
    return envelope_error(r, API_INTERNAL, "The response exceeds the maximum size of %d MiB.",
                          BODY_MAX_BYTES >> 20);
}

/* ---- CORS (the Fetch standard) ---- */

/* CORS applies to all routes, with or without a key. Keys are sent in a header field and never in a cookie,
 * so no credentials mode is needed. */
bool envelope_preflight(struct request *r, const struct envelope_settings *settings)
{
    if (!*settings->cors_origins || !r->field[FIELD_ORIGIN].p ||
        !r->field[FIELD_ACCESS_CONTROL_REQUEST_METHOD].p)
        return false;
    r->res.status = 204;
    response_add_field(r, STR("Access-Control-Allow-Methods"), STR("GET, HEAD, POST"));
    response_add_field(r, STR("Access-Control-Allow-Headers"),
                       STR("Authorization, Content-Type, If-None-Match, X-Request-Id"));
    response_add_field(r, STR("Access-Control-Max-Age"), STR("86400"));
    return true;
}

struct origin_search {
    struct str origin;
    bool found;
};

static void match_origin(void *ctx, struct str item)
{
    struct origin_search *search = ctx;
    search->found |= str_eq(item, STR("*")) || str_eq(item, search->origin);
}

static void add_cors(struct request *r, const struct envelope_settings *settings)
{
    struct origin_search search = {.origin = r->field[FIELD_ORIGIN]};
    if (!*settings->cors_origins || !search.origin.p)
        return;
    config_each_item(settings->cors_origins, match_origin, &search);
    if (!search.found)
        return;
    response_add_field(r, STR("Access-Control-Allow-Origin"), search.origin);
    response_add_field(
        r, STR("Access-Control-Expose-Headers"),
        STR("ETag, Link, Retry-After, Content-Disposition, X-Request-Id, X-Unknown-Parameters, "
            "Deprecation, Sunset, RateLimit, RateLimit-Policy, X-RateLimit-Limit, "
            "X-RateLimit-Remaining, X-RateLimit-Reset"));
}

/* ---- fields of every response ---- */

/* Logs one line per request at level debug. If the client has put a key into the target, the target is cut
 * off before the key. */
static void log_response(const struct request *r, const struct envelope_settings *settings)
{
    enum { TARGET_MAX = 1000 };
    if (!log_is_enabled(LOG_DEBUG))
        return;
    size_t shown = key_locate_secret(settings->key_prefix, r->target);
    if (shown > TARGET_MAX)
        shown = TARGET_MAX;
    log_debug("%.*s %s %.*s%s %d %.*s", (int)r->client_address.len, r->client_address.p,
              request_method_name(r->method), (int)shown, r->target.p ? r->target.p : "",
              shown < r->target.len ? "…" : "", r->res.status, (int)r->id.len, r->id.p);
}

/* Complete header lines, which need no formatting. The index is the set of the flags of envelope_finish() and
 * VARY_ORIGIN. */
enum { VARY_ORIGIN = 4 };
static const char *const vary_lines[] = {
    "Vary: Authorization\r\n",
    "Vary: Authorization, Accept\r\n",
    "Vary: Authorization, Accept-Encoding\r\n",
    "Vary: Authorization, Accept, Accept-Encoding\r\n",
    "Vary: Authorization, Origin\r\n",
    "Vary: Authorization, Accept, Origin\r\n",
    "Vary: Authorization, Accept-Encoding, Origin\r\n",
    "Vary: Authorization, Accept, Accept-Encoding, Origin\r\n",
};

void envelope_finish(struct request *r, const struct envelope_settings *settings, unsigned vary)
{
    log_response(r, settings);
    response_add_field(r, STR("X-Request-Id"), r->id);
    if (response_has_field(r, STR("Cache-Control")))
        response_add_lines(r, STR("X-Content-Type-Options: nosniff\r\n"));
    else
        response_add_lines(r, STR("X-Content-Type-Options: nosniff\r\nCache-Control: private, no-cache\r\n"));
    if (*settings->cors_origins)
        vary |= VARY_ORIGIN;
    response_add_lines(r, str_from_cstr(vary_lines[vary]));
    add_cors(r, settings);
}

/* Envelopes and common header fields. Knows no endpoint. */
#include "api/envelope.h"

#include "api/router.h"
#include "auth/api_key.h"
#include "base/log.h"
#include "config/config.h"

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

static void write_error(struct request *r, const char *code, struct str message)
{
    struct buf *b = &r->res.body;
    r->res.content_type = JSON_TYPE;
    json_open(b, '{');
    JSON_BOOL(b, "success", false);
    json_key(b, STR("error"));
    json_open(b, '{');
    JSON_STR(b, "code", str_from_cstr(code));
    JSON_STR(b, "message", message);
    JSON_STR(b, "request_id", r->id);
    json_close(b, '}');
    json_close(b, '}');
}

enum next answer_error(struct request *r, enum api_error e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct str message = arena_vprintf(&r->arena, fmt, ap);
    va_end(ap);
    response_reset(r);
    r->res.status = errors[e].status;
    if (errors[e].status == 401)
        response_add_field(r, STR("WWW-Authenticate"), STR("Bearer"));
    if (errors[e].status == 503)
        response_add_field(r, STR("Retry-After"), STR("5"));
    write_error(r, errors[e].code, message);
    return NEXT_DONE;
}

enum next answer_store_error(struct request *r, enum err e)
{
    if (r->res.streaming)
        return request_abort(r, err_name(e));
    return answer_error(r, API_UNAVAILABLE,
                        "The data cannot be read at the moment. Try again in a few seconds.");
}

enum next answer_changing(struct request *r)
{
    if (r->res.streaming)
        return request_abort(r, "the data changed while it was sent");
    return answer_error(r, API_UNAVAILABLE, "The data is changing right now. Try again in a few seconds.");
}

void answer_refusal(struct request *r, const char *message)
{
    bool ours = r->res.status >= 500 && r->res.status != 505;
    if (r->res.status == 503)
        response_add_field(r, STR("Retry-After"), STR("5"));
    write_error(r, ours ? "internal_error" : "invalid_parameter", str_from_cstr(message));
}

struct buf *answer_begin(struct request *r)
{
    r->res.status = 200;
    r->res.content_type = JSON_TYPE;
    json_open(&r->res.body, '{');
    JSON_BOOL(&r->res.body, "success", true);
    return &r->res.body;
}

enum next answer_end(struct request *r)
{
    json_close(&r->res.body, '}');
    if (r->res.body.failed && !r->res.streaming)
        return answer_error(r, API_INTERNAL, "The answer is larger than the server can send.");
    return r->res.body.failed ? request_abort(r, "answer too large") : NEXT_DONE;
}

static bool has_field(const struct request *r, struct str name)
{
    for (size_t i = 0; i < r->res.field_count; i++)
        if (str_eq(r->res.fields[i].name, name))
            return true;
    return false;
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

/* CORS (the Fetch standard): the key travels in a header, never in a cookie, so no credentials mode is
 * needed. */
static void add_cors(struct request *r, const struct api *api)
{
    struct origin_search search = {.origin = r->field[FIELD_ORIGIN]};
    if (!*api->cors_origins || !search.origin.p)
        return;
    config_each_item(api->cors_origins, match_origin, &search);
    if (!search.found)
        return;
    response_add_field(r, STR("Access-Control-Allow-Origin"), search.origin);
    response_add_field(r, STR("Access-Control-Expose-Headers"),
                       STR("ETag, Retry-After, X-Request-Id, RateLimit, RateLimit-Policy, X-RateLimit-Limit, "
                           "X-RateLimit-Remaining, X-RateLimit-Reset"));
}

/* A line per request at the level of debug; the access log has it in production. The target is all a
 * request may hold, so it is cut, and somebody may have put a key into it, so it is cut there. */
static void log_answer(const struct request *r, const struct api *api)
{
    enum { TARGET_SHOWN = 1000 };
    if (!log_is_enabled(LOG_DEBUG))
        return;
    size_t shown = key_locate_secret(api->key_prefix, r->target);
    if (shown > TARGET_SHOWN)
        shown = TARGET_SHOWN;
    log_debug("%.*s %s %.*s%s %d %.*s", (int)r->client_address.len, r->client_address.p,
              request_method_name(r->method), (int)shown, r->target.p ? r->target.p : "",
              shown < r->target.len ? "…" : "", r->res.status, (int)r->id.len, r->id.p);
}

static void add_vary(struct request *r, const struct api *api)
{
    const struct call *call = call_of(r);
    bool cors = *api->cors_origins, accept = call && call->route->flags & ROUTE_BY_ACCEPT;
    if (accept)
        response_add_lines(r, cors ? STR("Vary: Authorization, Accept, Origin\r\n")
                                   : STR("Vary: Authorization, Accept\r\n"));
    else
        response_add_lines(r, cors ? STR("Vary: Authorization, Origin\r\n") : STR("Vary: Authorization\r\n"));
}

void answer_finish(struct request *r)
{
    const struct api *api = r->app;
    log_answer(r, api);
    response_add_field(r, STR("X-Request-Id"), r->id);
    if (has_field(r, STR("Cache-Control")))
        response_add_lines(r, STR("X-Content-Type-Options: nosniff\r\n"));
    else
        response_add_lines(r, STR("X-Content-Type-Options: nosniff\r\nCache-Control: private, no-cache\r\n"));
    add_vary(r, api);
    add_cors(r, api);
}

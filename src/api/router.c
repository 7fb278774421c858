/* Routing and the checks before every endpoint: key, rate limit, plan. */
#include "api/router.h"

#include "api/envelope.h"
#include "oauth/metadata.h"
#include "api/params.h"
#include "api/usage.h"
#include "auth/api_key.h"
#include "base/clock.h"

static const struct route *const routes[] = {
    &account_route, &books_route, &videos_route, &video_route,   &stats_route,
    &events_route,  &token_route, &revoke_route, &openapi_route,
};

static bool strip_base(const struct api *api, struct str path, struct str *rest)
{
    for (size_t i = 0; i < api->base_path_count; i++) {
        struct str base = api->base_paths[i];
        if (str_starts_with(path, base) && path.len > base.len && path.p[base.len] == '/') {
            *rest = str_make(path.p + base.len, path.len - base.len);
            return true;
        }
    }
    return false;
}

static bool route_matches(const struct route *route, struct str path, struct str *tail)
{
    struct str want = str_from_cstr(route->path);
    if (!(route->flags & ROUTE_TAIL))
        return str_eq(path, want);
    if (!str_starts_with(path, want) || path.len <= want.len + 1 || path.p[want.len] != '/')
        return false;
    *tail = str_make(path.p + want.len + 1, path.len - want.len - 1);
    return !memchr(tail->p, '/', tail->len);
}

static const struct route *find_route(const struct api *api, struct str path, struct str *tail)
{
    struct str rest;
    if (!strip_base(api, path, &rest))
        return NULL;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        if (route_matches(routes[i], rest, tail))
            return routes[i];
    return NULL;
}

/* Not one of the API's: it stands where RFC 8414 wants it. */
static const struct route metadata_route = {.name = "/.well-known/oauth-authorization-server",
                                            .methods = ROUTE_GET,
                                            .flags = ROUTE_KEYLESS,
                                            .start = metadata_answer};

static enum next start_endpoint(struct request *r)
{
    if (!params_parse(r))
        return NEXT_DONE;
    r->step = call_of(r)->route->start;
    return NEXT_MORE;
}

/* ---- the response cache ---- */

/* The revision is the one that the key's owner had before the response was made: it may be older than the
 * data in the response, never newer. Two spellings of one query are two entries. */
static struct response_key response_key_of(const struct request *r)
{
    const struct call *call = call_of(r);
    const unsigned flags = call->route->flags;
    struct response_key key = {
        .route = call->route,
        .scope = flags & ROUTE_BY_KEY ? call->owner.key_row : call->owner.author_row,
        .path = call->path_tail,
        .query = r->query,
        .revision = flags & ROUTE_BY_FEED ? call->owner.feed_rev : call->owner.author_rev,
    };
    /* Of what /account shows of a key, only the time of its last use ever changes. */
    if (flags & ROUTE_BY_KEY)
        key.revision += call->owner.last_used_at;
    if (flags & ROUTE_BY_ACCEPT)
        key.accept = r->field[FIELD_ACCEPT];
    return key;
}

static bool serve_from_cache(struct request *r)
{
    struct call *call = call_of(r);
    const struct response_key key = response_key_of(r);
    const struct cached_response *cached = response_cache_look_up(call->api->cache, &key, clock_wall_ms());
    if (!cached)
        return false;
    r->res.status = 200;
    r->res.content_type = cached->content_type;
    r->res.etag = cached->etag;
    if (call->route->on_cache_hit)
        call->route->on_cache_hit(r, cached->facts);
    response_set_shared_body(r, cached->body, response_cache_release, (void *)(uintptr_t)cached);
    return true;
}

/* Only complete responses of admitted requests, without header fields of their own. A 304 has its body too.
 */
static void offer_to_cache(struct request *r)
{
    const struct call *call = call_of(r);
    const struct response *res = &r->res;
    bool complete =
        (res->status == 200 || res->status == 304) && !res->streaming && !res->shared_body.p && res->body.len;
    if (!call->counted || !complete || res->field_count || !call->valid_until_ms)
        return;
    const struct response_key key = response_key_of(r);
    struct cached_response response = {
        .body = buf_str(&res->body), .etag = res->etag, .content_type = res->content_type};
    memcpy(response.facts, call->facts, sizeof response.facts);
    response_cache_store(call->api->cache, &key, &response, clock_wall_ms(), call->valid_until_ms);
}

/* ---- the rate limit ---- */

/* The fields of the IETF draft and the older X-RateLimit ones; both count seconds from now. Written without
 * printf, which would take as long as the rest of the head. */
static void add_limit_fields(struct request *r, const struct limit_verdict *v)
{
    enum { FIELDS_BYTES = 256 }; /* the names and six numbers of at most 20 digits */
    const int64_t reset_s = (v->reset_ms + 999) / 1000;
    struct buf b = buf_on(arena_alloc(&r->arena, FIELDS_BYTES), FIELDS_BYTES);
    buf_append(&b, STR("RateLimit-Policy: \"key\";q="));
    buf_append_i64(&b, v->limit);
    buf_append(&b, STR(";w=60\r\nRateLimit: \"key\";r="));
    buf_append_i64(&b, v->remaining);
    buf_append(&b, STR(";t="));
    buf_append_i64(&b, reset_s);
    buf_append(&b, STR("\r\nX-RateLimit-Limit: "));
    buf_append_i64(&b, v->limit);
    buf_append(&b, STR("\r\nX-RateLimit-Remaining: "));
    buf_append_i64(&b, v->remaining);
    buf_append(&b, STR("\r\nX-RateLimit-Reset: "));
    buf_append_i64(&b, reset_s);
    buf_append(&b, STR("\r\n"));
    response_add_lines(r, buf_str(&b));
}

static enum next refuse_rate(struct request *r, const struct limit_verdict *v)
{
    const long long wait_s = v->reset_ms > 1000 ? (v->reset_ms + 999) / 1000 : 1;
    enum next next =
        answer_error(r, API_RATE_LIMITED, "More than %d requests in a minute with this key. Retry in %lld s.",
                     (int)v->limit, wait_s);
    response_add_field(r, STR("Retry-After"), arena_printf(&r->arena, "%lld", wait_s));
    return next;
}

static enum next verdict_step(struct request *r)
{
    struct call *call = call_of(r);
    limiter_decide(call->api->limiter, &call->limit);
    r->limiter = limiter_source_name(call->limit.source);
    if (!call->limit.verdict.admitted)
        return refuse_rate(r, &call->limit.verdict);
    call->counted = true;
    if (!call->owner.plan_active)
        return answer_error(r, API_PLAN_INACTIVE, "The author's plan is not active.");
    return serve_from_cache(r) ? NEXT_DONE : start_endpoint(r);
}

static enum next admit(struct request *r)
{
    struct call *call = call_of(r);
    r->step = verdict_step;
    return limiter_acquire(call->api->limiter, call->owner.key_row, &call->owner.key_id, clock_mono_ms(),
                           &r->wait, &call->limit);
}

/* The end of router_authorize_again(). */
static enum next resume(struct request *r)
{
    struct call *call = call_of(r);
    if (!call->owner.plan_active)
        return answer_error(r, API_PLAN_INACTIVE, "The author's plan is not active.");
    r->step = call->resume;
    return NEXT_MORE;
}

/* As if the limiter had never been asked, which does not happen for such a key. */
static enum next refuse_key(struct request *r, enum api_error error, const char *message)
{
    struct call *call = call_of(r);
    call->counted = false;
    call->limit.verdict.limit = 0;
    return answer_error(r, error, "%s", message);
}

static enum next check_owner(struct request *r)
{
    struct call *call = call_of(r);
    r->key_id = &call->owner.key_id;
    r->author_id = &call->owner.author_id;
    if (call->owner.revoked_at != TIME_NONE)
        return refuse_key(r, API_REVOKED_KEY, "This API key was revoked.");
    return call->resume ? resume(r) : admit(r);
}

static enum next owner_step(struct request *r)
{
    const struct call *call = call_of(r);
    if (call->read.err == ERR_NOT_FOUND)
        return refuse_key(r, API_INVALID_KEY, "This API key is not known.");
    if (call->read.err)
        return answer_store_error(r, call->read.err);
    key_cache_store(call->api->key_cache, call->key_tag, call->store_version, &call->owner);
    return check_owner(r);
}

static enum next look_up_owner(struct request *r, struct str key)
{
    struct call *call = call_of(r);
    uint8_t hash[KEY_HASH_LEN];
    if (!key_is_well_formed(call->api->key_prefix, key))
        return answer_error(r, API_INVALID_KEY, "This is not an API key.");
    key_hash(key, hash);
    r->step = owner_step;
    return store_find_key(&call->read, hash, &call->owner);
}

static enum next find_owner_of(struct request *r, struct str key)
{
    struct call *call = call_of(r);
    call->store_version = store_version(call->api->store);
    if (key_cache_lookup(call->api->key_cache, call->key_tag, call->store_version, &call->owner))
        return check_owner(r);
    return look_up_owner(r, key);
}

enum next router_authorize_again(struct request *r, request_step *then)
{
    struct str key = {NULL, 0};
    (void)key_from_authorization(r->field[FIELD_AUTHORIZATION], &key);
    call_of(r)->resume = then;
    return find_owner_of(r, key);
}

static enum next find_owner(struct request *r)
{
    const struct call *call = call_of(r);
    struct str key;
    if (r->field_count[FIELD_AUTHORIZATION] > 1)
        return answer_error(r, API_INVALID_KEY, "There is more than one Authorization header.");
    if (key_from_authorization(r->field[FIELD_AUTHORIZATION], &key) == BEARER_MISSING)
        return answer_error(r, API_MISSING_KEY, "Send the API key as: Authorization: Bearer <API_KEY>.");
    if (key.len > KEY_TEXT_MAX)
        return answer_error(r, API_INVALID_KEY, "This is not an API key.");
    key_cache_tag(call->api->key_cache, key, call_of(r)->key_tag);
    return find_owner_of(r, key);
}

static bool method_fits(const struct route *route, enum http_method m)
{
    return (route->methods & ROUTE_GET && (m == METHOD_GET || m == METHOD_HEAD)) ||
           (route->methods & ROUTE_POST && m == METHOD_POST);
}

/* A browser's question before a request with an Authorization header. Answered for any route when CORS is on.
 */
static enum next answer_preflight(struct request *r)
{
    r->res.status = 204;
    response_add_field(r, STR("Access-Control-Allow-Methods"), STR("GET, HEAD, POST"));
    response_add_field(r, STR("Access-Control-Allow-Headers"),
                       STR("Authorization, Content-Type, If-None-Match, X-Request-Id"));
    response_add_field(r, STR("Access-Control-Max-Age"), STR("86400"));
    return NEXT_DONE;
}

static enum next refuse_method(struct request *r, const struct route *route)
{
    bool get = route->methods & ROUTE_GET;
    enum next next =
        answer_error(r, API_WRONG_METHOD, "This address takes %s only.", get ? "GET and HEAD" : "POST");
    response_add_field(r, STR("Allow"), get ? STR("GET, HEAD") : STR("POST"));
    return next;
}

enum next router_first_step(struct request *r)
{
    struct api *api = r->app;
    struct str tail = {NULL, 0};
    const struct route *route =
        metadata_is_at(api, r->path) ? &metadata_route : find_route(api, r->path, &tail);
    if (!route)
        return answer_error(r, API_NOT_FOUND, "There is no such address.");
    r->route = route->name;
    if (r->method == METHOD_OPTIONS && *api->cors_origins && r->field[FIELD_ORIGIN].p &&
        r->field[FIELD_ACCESS_CONTROL_REQUEST_METHOD].p)
        return answer_preflight(r);
    if (!method_fits(route, r->method))
        return refuse_method(r, route);
    struct call *call = arena_alloc(&r->arena, sizeof *call);
    call->api = api;
    call->route = route;
    call->valid_until_ms = INT64_MAX;
    call->path_tail = tail;
    call->read = (struct store_read){.store = api->store, .wait = &r->wait};
    r->state = call;
    return route->flags & ROUTE_KEYLESS ? start_endpoint(r) : find_owner(r);
}

void router_finish(struct request *r)
{
    const struct api *api = r->app;
    struct call *call = call_of(r);
    if (call)
        offer_to_cache(r);
    if (call && call->limit.verdict.limit && api->limit_headers)
        add_limit_fields(r, &call->limit.verdict);
    /* Behind the answer, so that an /account never shows its own request as the last use. */
    if (call && call->counted)
        usage_note(api->usage, &call->owner);
    answer_finish(r);
}

/* The checks before every endpoint, the use of the response cache, and the header fields of the rate limit.
 *
 *   start_step --> authenticate --> check_owner --> verdict_step --> start_endpoint --> the endpoint
 *                                       |                 +--------> serve_from_cache
 *                                       +--> the step after a wait (api_authorize_again) */
#include "api/api.h"

#include "api/compressor.h"
#include "api/description.h"
#include "api/params.h"
#include "auth/api_key.h"
#include "auth/failure_log.h"
#include "auth/key_usage.h"
#include "base/clock.h"
#include "base/plural.h"
#include "http/grammar.h"

const struct route *const api_routes[] = {
    &account_endpoint.route,
    &books_endpoint.route,
    &videos_endpoint.route,
    &video_endpoint.route,
    &stats_endpoint.route,
    &stats_csv_endpoint.route,
    &events_endpoint.route,
    &openapi_endpoint.route,
    &index_endpoint.route,
    &index_slash_endpoint.route,
    NULL,
};

static enum next start_endpoint(struct request *r)
{
    if (!params_parse(r))
        return NEXT_DONE;
    r->step = r->route->start;
    return NEXT_MORE;
}

/* ---- the response cache ---- */

/* Returns the key of the request's entry in the response cache. The revision was read before the data of the
 * response, so it may be older than this data but never newer. Two spellings of the same query have separate
 * entries. */
static struct response_key response_key_of(const struct request *r)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    const unsigned flags = r->route->flags;
    struct response_key key = {
        .route = r->route,
        .scope = flags & ENDPOINT_BY_KEY ? call->owner.key_row : call->owner.author_row,
        .path = r->path_parameter,
        .query = r->query,
        .incarnation = call->owner.incarnation,
        .revision = flags & ENDPOINT_BY_FEED ? call->owner.feed_rev : call->owner.author_rev,
    };
    /* /account shows one property of a key that can change: the time of its last use. */
    if (flags & ENDPOINT_BY_KEY)
        key.revision += call->owner.last_used_at;
    if (flags & ENDPOINT_BY_ACCEPT)
        key.accept = r->field[FIELD_ACCEPT];
    return key;
}

static bool serve_from_cache(struct request *r)
{
    const struct response_key key = response_key_of(r);
    const struct cached_response *cached =
        response_cache_look_up(endpoint_call_of(r)->api->cache, &key, clock_wall_ms());
    if (!cached)
        return false;
    r->res.status = 200;
    r->from_cache = true;
    r->res.content_type = cached->content_type;
    r->res.etag = arena_copy(&r->arena, cached->etag);
    if (cached->lines.len)
        endpoint_call_of(r)->lines = arena_copy(&r->arena, cached->lines);
    if (endpoint_of(r)->on_cache_hit)
        endpoint_of(r)->on_cache_hit(r, cached->facts);
    response_set_shared_body(r, cached->shared_body);
    return true;
}

/* Stores the response in the cache if the limiter has admitted the request and the response is complete and
 * has no additional header fields. A 304 can be stored too: its full body is in the buffer, although it is
 * not sent. */
static void offer_to_cache(struct request *r)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    const struct response *res = &r->res;
    bool complete =
        (res->status == 200 || res->status == 304) && !res->streaming && !res->shared_body && res->body.len;
    if (!call->counted || !complete || res->field_count || !call->valid_until_ms)
        return;
    const struct response_key key = response_key_of(r);
    struct cached_response response = {.body = buf_str(&res->body),
                                       .etag = res->etag,
                                       .content_type = res->content_type,
                                       .lines = call->lines};
    memcpy(response.facts, call->facts, sizeof response.facts);
    response_cache_store(call->api->cache, &key, &response, clock_wall_ms(), call->valid_until_ms);
}

/* ---- gzip ---- */

/* Returns the ETag of the compressed form, which must differ from that of the uncompressed form (RFC 9110,
 * 8.8.3): "abc" becomes "abc-gzip". */
static struct str gzip_etag_of(struct request *r, struct str etag)
{
    return arena_printf(&r->arena, "%.*s-gzip\"", (int)etag.len - 1, etag.p);
}

/* Sends the compressed form of a cached body if there is one. A client that already has the compressed form
 * receives a 304 even if the cache no longer contains that form, because the content is equal. */
static void select_coding(struct request *r)
{
    struct compressor *compressor = endpoint_call_of(r)->api->compressor;
    struct response *res = &r->res;
    if (!compressor || res->status != 200 || !res->etag.p || res->streaming ||
        !grammar_accepts_gzip(r->field[FIELD_ACCEPT_ENCODING]))
        return;
    const struct str etag = gzip_etag_of(r, res->etag);
    struct shared_body *compressed = res->shared_body ? compressor_get(compressor, res->shared_body) : NULL;
    if (response_is_not_modified(r, etag)) {
        res->status = 304;
        res->etag = etag;
    } else if (compressed) {
        res->etag = etag;
        response_replace_shared_body(r, compressed);
        response_add_field(r, STR("Content-Encoding"), STR("gzip"));
    }
}

/* ---- rate limit and plan ---- */

/* Adds the RateLimit fields of the IETF draft and the older X-RateLimit fields. In both, times are in seconds
 * from now. printf is avoided because it would take as long as the rest of the response head. */
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

static enum next reject_rate(struct request *r, const struct limit_verdict *v)
{
    const long long wait_s = v->reset_ms > 1000 ? (v->reset_ms + 999) / 1000 : 1;
    enum next next =
        envelope_error(r, API_RATE_LIMITED,
                       "This API key has sent more than %d requests within 60 seconds. Retry in %lld "
                       "second%s.",
                       v->limit, wait_s, plural(wait_s, "", "s"));
    response_add_field(r, STR("Retry-After"), arena_printf(&r->arena, "%lld", wait_s));
    return next;
}

static enum next reject_plan(struct request *r)
{
    return envelope_error(
        r, API_PLAN_INACTIVE,
        "The author's plan is not active. The API key works again as soon as the plan is active.");
}

static enum next verdict_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    limiter_decide(call->api->limiter, &call->limit);
    r->limiter = limiter_source_name(call->limit.source);
    if (!call->limit.verdict.admitted)
        return reject_rate(r, &call->limit.verdict);
    call->counted = true;
    if (!call->owner.plan_active)
        return reject_plan(r);
    return serve_from_cache(r) ? NEXT_DONE : start_endpoint(r);
}

/* ---- authentication ---- */

/* Rejects the request without rate limit fields, because the limiter is not called for an invalid key. */
static enum next reject_key(struct request *r, enum api_error error, const char *message)
{
    struct endpoint_call *call = endpoint_call_of(r);
    call->counted = false;
    call->limit.verdict.limit = 0;
    return envelope_error(r, error, "%s", message);
}

static enum next check_owner(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    r->key_id = &call->owner.key_id;
    r->author_id = &call->owner.author_id;
    if (call->owner.revoked_at != TIME_NONE)
        return reject_key(
            r, API_REVOKED_KEY,
            "This API key has been revoked. Create a new key in the account settings, or connect the "
            "app again.");
    if (call->resume && !call->owner.plan_active)
        return reject_plan(r);
    r->step = call->resume ? call->resume : verdict_step;
    if (call->resume)
        return NEXT_MORE;
    return limiter_acquire(call->api->limiter, call->owner.key_row, &call->owner.key_id, clock_mono_ms(),
                           &r->wait, &call->limit);
}

static void record_failure(const struct request *r)
{
    failure_log_record(endpoint_call_of(r)->api->failures, FAILURE_API_KEY, r->client_address,
                       clock_mono_ms());
}

static void store_in_key_cache(const struct endpoint_call *call)
{
    struct known_key known = {.owner = call->owner};
    if (call->owner.version == call->cached_version)
        return;
    memcpy(known.hash, call->key_hash, sizeof known.hash);
    key_cache_store(call->api->key_cache, call->key_tag, &known);
}

static enum next owner_step(struct request *r)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    if (call->read.err == ERR_NOT_FOUND) {
        record_failure(r);
        return reject_key(
            r, API_INVALID_KEY,
            "This API key does not exist here. Copy the complete key from where it was created, or "
            "create a new one in the account settings.");
    }
    if (call->read.err)
        return envelope_store_error(r, call->read.err);
    store_in_key_cache(call);
    return check_owner(r);
}

static enum next reject_malformed_key(struct request *r)
{
    const struct str prefix = endpoint_call_of(r)->api->envelope.key_prefix;
    record_failure(r);
    return envelope_error(r, API_INVALID_KEY,
                          "The API key is malformed. Copy the complete key, which begins with %.*s.",
                          (int)prefix.len, prefix.p);
}

static enum next find_owner(struct request *r, struct str key)
{
    struct endpoint_call *call = endpoint_call_of(r);
    struct known_key known = {.owner = {.version = 0}};
    if (key_cache_lookup(call->api->key_cache, call->key_tag, &known))
        memcpy(call->key_hash, known.hash, sizeof call->key_hash);
    else if (!key_is_well_formed(call->api->envelope.key_prefix, key))
        return reject_malformed_key(r);
    else
        key_hash(key, call->key_hash);
    call->owner = known.owner;
    call->cached_version = known.owner.version;
    r->step = owner_step;
    return store_resolve_key(&call->read, call->key_hash, &call->owner);
}

static enum next authenticate(struct request *r)
{
    const struct endpoint_call *call = endpoint_call_of(r);
    struct str key;
    if (r->field_count[FIELD_AUTHORIZATION] > 1)
        return envelope_error(r, API_INVALID_KEY,
                              "The request has more than one Authorization header. Send exactly one.");
    if (key_from_authorization(r->field[FIELD_AUTHORIZATION], &key) == BEARER_MISSING)
        return envelope_error(
            r, API_MISSING_KEY,
            "The API key is missing. Send it in the header Authorization: Bearer <API_KEY>.");
    if (key.len > KEY_TEXT_MAX)
        return reject_malformed_key(r);
    key_cache_compute_tag(call->api->key_cache, key, endpoint_call_of(r)->key_tag);
    return find_owner(r, key);
}

enum next api_authorize_again(struct request *r, request_step *then)
{
    struct str key = {NULL, 0};
    (void)key_from_authorization(r->field[FIELD_AUTHORIZATION], &key);
    endpoint_call_of(r)->resume = then;
    return find_owner(r, key);
}

/* ---- struct http_app ---- */

static enum next start_step(struct request *r)
{
    struct api *api = r->app->ctx;
    struct endpoint_call *call = arena_alloc(&r->arena, sizeof *call);
    call->api = api;
    call->valid_until_ms = INT64_MAX;
    call->read = (struct store_read){.store = api->store, .wait = &r->wait};
    r->state = call;
    return r->route->flags & ENDPOINT_KEYLESS ? start_endpoint(r) : authenticate(r);
}

static bool preflight(struct request *r)
{
    const struct api *api = r->app->ctx;
    return envelope_preflight(r, &api->envelope);
}

static void finish(struct request *r)
{
    const struct api *api = r->app->ctx;
    const struct endpoint_call *call = endpoint_call_of(r);
    if (call) {
        r->times.database_us = call->read.total_us;
        offer_to_cache(r);
        select_coding(r);
    }
    if (call && call->lines.len && (r->res.status == 200 || r->res.status == 304))
        response_add_lines(r, call->lines);
    if (call && call->limit.verdict.limit && api->limit_headers)
        add_limit_fields(r, &call->limit.verdict);
    /* The use is recorded after the response was written, so that /account never shows its own request as the
     * last use. */
    if (call && call->counted)
        key_usage_record(api->usage, &call->owner, r->client_address);
    envelope_finish(r, &api->envelope,
                    (call && r->route->flags & ENDPOINT_BY_ACCEPT ? VARY_ACCEPT : 0) |
                        (api->compressor ? VARY_ACCEPT_ENCODING : 0));
}

void api_init(struct api *api)
{
    api->http = (struct http_app){.ctx = api,
                                  .docs_url = api->description->docs,
                                  .start = start_step,
                                  .no_route = envelope_no_route,
                                  .preflight = preflight,
                                  .reject = envelope_reject,
                                  .finish = finish};
}

/* The API application: its context, its endpoints, and what a request carries from step to step.
 *
 * Before an endpoint's first step: the route and its method match, the key is valid (401), the rate limit has
 * admitted the request (429), the plan is active (403), and the query parameters are decoded (400); in this
 * order (decision 2). A keyless endpoint needs only the parameters. */
#ifndef VT_API_API_H
#define VT_API_API_H

#include "api/envelope.h"
#include "api/response_cache.h"
#include "auth/key_cache.h"
#include "http/router.h"
#include "limit/limiter.h"
#include "limit/poll_positions.h"
#include "store/read.h"

struct key_usage;
struct longpoll;

/* Owned by the app; lives as long as the server. */
struct api {
    struct http_app http; /* for the router; its ctx is this struct */
    struct envelope_settings envelope;
    struct store *store; /* the loop's read connection */
    struct limiter *limiter;
    struct poll_positions *positions;
    struct key_cache *key_cache;
    struct response_cache *cache;
    struct longpoll *longpoll;
    struct key_usage *usage;
    bool limit_headers;
};

/* Fills in `api->http`. */
void api_init(struct api *api);

/* ---- endpoints: one resource a file ---- */

/* Flags of a route. */
enum {
    ENDPOINT_KEYLESS = 1,
    ENDPOINT_BY_ACCEPT = 2, /* the response depends on the Accept field */
    ENDPOINT_BY_KEY = 4,    /* the response depends on the key, not only on its author */
    ENDPOINT_BY_FEED =
        8, /* the response shows only what events show: feed_rev, not author_rev, is its revision */
};

enum { PARAMS_MAX = 8 };

struct endpoint {
    struct route route; /* first: a request's route is its endpoint */
    /* Optional. Called on a cache hit instead of the endpoint, with the facts that it recorded. */
    void (*on_cache_hit)(struct request *r, const int64_t facts[RESPONSE_FACTS]);
    const char
        *params[PARAMS_MAX + 1]; /* names of the query parameters, NULL-terminated; others are ignored */
};

extern const struct endpoint account_endpoint, books_endpoint, videos_endpoint, video_endpoint,
    stats_endpoint, events_endpoint, openapi_endpoint;

/* All of them, to be mounted at the base paths ("/v1"). */
extern const struct route *const api_routes[];

/* ---- requests ---- */

/* r->state of every request of an endpoint, in the request's arena. */
struct endpoint_call {
    struct api *api;
    struct store_read read;
    uint64_t store_version; /* from before the key's lookup */
    uint8_t key_tag[KEY_TAG_LEN];
    struct key_owner owner;
    request_step *resume;      /* set while api_authorize_again() is in progress */
    bool counted;              /* admitted by the rate limit */
    struct limiter_call limit; /* verdict.limit is 0 before the limiter is called and if there is no limit */
    struct str params[PARAMS_MAX]; /* decoded, by index in endpoint.params; p == NULL: not given */
    void *endpoint;                /* the endpoint's own struct */
    /* Wall clock time from which the same data gives another response. INT64_MAX: never; 0: do not cache. */
    int64_t valid_until_ms;
    int64_t facts[RESPONSE_FACTS]; /* stored with the response, for on_cache_hit() */
};

static inline struct endpoint_call *endpoint_call_of(const struct request *r)
{
    return r->state;
}

static inline const struct endpoint *endpoint_of(const struct request *r)
{
    return (const struct endpoint *)(const void *)r->route;
}

/* The response being made stays the same only until just before `t_ms`. */
static inline void endpoint_call_limit_validity(struct endpoint_call *call, int64_t t_ms)
{
    if (t_ms < call->valid_until_ms)
        call->valid_until_ms = t_ms;
}

/* For a request that has waited: looks up the key and the plan again, and either rejects the request (401,
 * 403) or continues with `then`. Keeps the part of the response that is already written. Does not count
 * against the rate limit again. */
enum next api_authorize_again(struct request *r, request_step *then);

#endif

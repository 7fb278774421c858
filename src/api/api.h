/* The API application: its context, its endpoints, and the state of one request.
 *
 * Before an endpoint's first step runs, a request has passed these checks in this order: the route exists and
 * supports the method, the key is valid (else 401), the rate limit admits the request (else 429), the plan is
 * active (else 403), and the query parameters can be decoded (else 400). A keyless endpoint skips the checks
 * of key, rate limit and plan. */
#ifndef VT_API_API_H
#define VT_API_API_H

#include "api/envelope.h"
#include "api/response_cache.h"
#include "auth/key_cache.h"
#include "http/router.h"
#include "limit/limiter.h"
#include "limit/poll_positions.h"
#include "store/read.h"

struct compressor;
struct description;
struct failure_log;
struct key_usage;
struct longpoll;

/* Owned by the program (struct app); lives as long as the server. */
struct api {
    struct http_app http; /* the application for the router; its ctx is this struct */
    struct envelope_settings envelope;
    struct store *store; /* the loop's read connection */
    struct limiter *limiter;
    struct poll_positions *positions;
    struct key_cache *key_cache;
    struct response_cache *cache;
    struct compressor *compressor; /* NULL if [server] gzip is off */
    struct longpoll *longpoll;
    struct key_usage *usage;
    struct failure_log *failures;
    const struct description *description;
    bool limit_headers;
};

/* Sets `api->http`. The caller sets all other members. */
void api_init(struct api *api);

/* ---- endpoints: one file per resource ---- */

/* Flags of a route. */
enum {
    ENDPOINT_KEYLESS = 1,
    ENDPOINT_BY_ACCEPT = 2, /* the response depends on the Accept field */
    ENDPOINT_BY_KEY = 4,    /* the response depends on the key, not only on its author */
    /* The response contains only data that the event feed shows. The response cache therefore uses the
     * author's feed_rev as the revision, not author_rev: a reading changes feed_rev only if it causes an
     * event. */
    ENDPOINT_BY_FEED = 8,
};

enum { PARAMS_MAX = 12 };

struct endpoint {
    struct route route; /* must be the first member, because endpoint_of() casts a pointer to the route */
    /* May be NULL. Called on a cache hit, when the endpoint itself does not run, with the `facts` that the
     * endpoint stored with the response. */
    void (*on_cache_hit)(struct request *r, const int64_t facts[RESPONSE_FACTS]);
    const char *params[PARAMS_MAX + 1]; /* names of the query parameters, NULL-terminated; other parameters
                                           are ignored */
};

extern const struct endpoint account_endpoint, books_endpoint, videos_endpoint, video_endpoint,
    stats_endpoint, stats_csv_endpoint, events_endpoint, openapi_endpoint, index_endpoint,
    index_slash_endpoint;

/* All endpoints. Mount them at each base path ("/v1"). */
extern const struct route *const api_routes[];

/* ---- requests ---- */

/* The state of a request to an endpoint. r->state points to it; it is allocated in the request's arena. */
struct endpoint_call {
    struct api *api;
    struct store_read read;
    uint8_t key_tag[KEY_TAG_LEN], key_hash[KEY_HASH_LEN];
    struct key_owner owner;
    uint64_t cached_version; /* owner.version of the entry in the key cache; 0 if there was no entry */
    request_step *resume;    /* the step `then` of api_authorize_again(); NULL before that call */
    bool counted;            /* the rate limit has admitted and counted the request */
    struct limiter_call
        limit; /* verdict.limit is 0 before the limiter has been called, and also if there is no limit */
    struct str params[PARAMS_MAX]; /* decoded, in the order of endpoint.params; p is NULL if not given */
    void *endpoint;                /* private state of the endpoint */
    /* Wall clock time in ms at which the response expires even if the data does not change. INT64_MAX: it
     * never expires; 0: it must not be cached. */
    int64_t valid_until_ms;
    struct str lines; /* whole header lines of a 200 or 304 (Link, X-Unknown-Parameters), which are stored
                         with the response */
    int64_t facts[RESPONSE_FACTS]; /* facts that are stored with the response for on_cache_hit() */
};

static inline struct endpoint_call *endpoint_call_of(const struct request *r)
{
    return r->state;
}

static inline const struct endpoint *endpoint_of(const struct request *r)
{
    return (const struct endpoint *)(const void *)r->route;
}

/* Limits the validity of the response: it expires at `t_ms` (wall clock) at the latest. */
static inline void endpoint_call_limit_validity(struct endpoint_call *call, int64_t t_ms)
{
    if (t_ms < call->valid_until_ms)
        call->valid_until_ms = t_ms;
}

/* Checks the key and the plan again, for a request that has waited. Rejects the request (401, 403) or
 * continues with the step `then`. Leaves the response written so far unchanged. Does not count the request
 * against the rate limit again. */
enum next api_authorize_again(struct request *r, request_step *then);

#endif

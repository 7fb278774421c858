/* The API's context and what a keyed request carries from step to step. */
#ifndef VT_API_API_H
#define VT_API_API_H

#include "api/response_cache.h"
#include "auth/key_cache.h"
#include "http/request.h"
#include "limit/poll_positions.h"
#include "limit/limiter.h"
#include "store/read.h"
#include "store/writer.h"

struct longpoll;
struct oauth_guards;
struct usage;

enum { API_BASE_PATHS_MAX = 2 };

/* Everything that handlers need; owned by the app, lives as long as the server. */
struct api {
    struct store *store; /* the loop's read connection */
    struct limiter *limiter;
    struct poll_positions *cursors;
    struct key_cache *key_cache;
    struct response_cache *cache;
    struct longpoll *longpoll;
    struct usage *usage;
    struct writer *writer;
    struct oauth_guards *guards;
    struct str key_prefix;
    bool limit_headers;
    struct str base_url; /* as configured; the issuer of OAuth */
    size_t base_path_count;
    struct str base_paths[API_BASE_PATHS_MAX]; /* "/v1" of base_url and of direct_url */
    const char *cors_origins;                  /* the configured list; "": off */
};

enum { PARAMS_MAX = 8 };

/* One request between its steps: r->state of every routed request. */
struct call {
    struct api *api;
    const struct route *route;
    struct str path_tail; /* what stands behind the route's path: the {id} */
    struct store_read read;
    uint64_t store_version; /* of before the owner was looked up */
    uint8_t key_tag[KEY_TAG_LEN];
    struct key_owner owner;
    request_step *resume;          /* while router_authorize_again() is at work */
    bool counted;                  /* by the limit: a use of the key */
    struct limiter_call limit;     /* verdict.limit 0: not asked, or no limit */
    struct str params[PARAMS_MAX]; /* decoded; in the order of the route's names; p == NULL: not given */
    void *endpoint;                /* the endpoint's own struct */
    /* Wall clock: from then on the answer may be another one though the data is the same. INT64_MAX: never;
     * 0: it may not be kept at all. The endpoint lowers it. */
    int64_t valid_until_ms;
    int64_t facts[RESPONSE_FACTS]; /* stored with the response, for the route's on_cache_hit() */
};

/* The answer being made stays the same only until before `t_ms`. */
static inline void call_valid_until(struct call *call, int64_t t_ms)
{
    if (t_ms < call->valid_until_ms)
        call->valid_until_ms = t_ms;
}

static inline struct call *call_of(const struct request *r)
{
    return r->state;
}

#endif

/* From a parsed request to its endpoint, in the order of decision 2: route (404, 405), key (401), rate (429),
 * plan (403), parameters (400). */
#ifndef VT_API_ROUTER_H
#define VT_API_ROUTER_H

#include "api/api.h"

enum { ROUTE_GET = 1, ROUTE_POST = 2 };
enum {
    ROUTE_KEYLESS = 1,
    ROUTE_TAIL = 2,      /* the path goes on with "/" and one segment: call->path_tail */
    ROUTE_BY_ACCEPT = 4, /* the answer depends on the Accept field */
    ROUTE_BY_KEY = 8,    /* and on the key, not only on its author */
    ROUTE_BY_FEED = 16,  /* of the author's data it shows no more than events do: feed_rev, not author_rev */
};

struct route {
    const char *path; /* behind the base path */
    const char *name; /* in logs and counts: the whole template, as /v1/videos/{id} */
    unsigned methods, flags;
    request_step *start; /* the endpoint: params are parsed, the owner is known */
    /* Optional. Called on a cache hit instead of the endpoint, with the facts that it recorded. */
    void (*on_cache_hit)(struct request *r, const int64_t facts[RESPONSE_FACTS]);
    const char *params[PARAMS_MAX + 1]; /* names that are known; NULL-terminated */
};

/* struct http_app.first; its ctx is the struct api. */
enum next router_first_step(struct request *r);

/* For a request that has waited: looks the key and the plan up again and refuses the request as if it had
 * come now (401, 403), or goes on with `then`. What was written of the answer so far stays. Takes no further
 * slot of the rate limit. */
enum next router_authorize_again(struct request *r, request_step *then);

/* struct http_app.finish: what the limit leaves, and what every response carries (answer_finish). */
void router_finish(struct request *r);

/* The endpoints; one file each. */
extern const struct route account_route, books_route, videos_route, video_route, stats_route, events_route,
    token_route, revoke_route, openapi_route;

#endif

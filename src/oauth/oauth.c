/* The authorization server's context and its hooks for the router. */
#include "oauth/client.h"

#include "auth/failure_limiter.h"

enum {
    ADDRESS_BURST = 20,
    ADDRESS_DECAY_MS = 6000,
    CLIENT_BURST = 200,
    CLIENT_DECAY_MS = 300,
};

const struct route *const oauth_routes[] = {&token_route, &revoke_route, NULL};
const struct route *const oauth_metadata_routes[] = {&metadata_route, NULL};

static enum next start_step(struct request *r)
{
    return r->route->start(r);
}

/* The status is 405: no mount of this application responds to unknown paths. */
static enum next no_route_step(struct request *r)
{
    return oauth_respond_error(r, r->res.status, "invalid_request",
                               r->route->methods & ROUTE_GET ? "This endpoint accepts GET and HEAD only."
                                                             : "This endpoint accepts POST only.");
}

static bool preflight(struct request *r)
{
    const struct oauth *oauth = r->app->ctx;
    return envelope_preflight(r, &oauth->envelope);
}

static void finish(struct request *r)
{
    const struct oauth *oauth = r->app->ctx;
    if (oauth_call_of(r))
        r->times.database_us = oauth_call_of(r)->read.total_us;
    envelope_finish(r, &oauth->envelope, 0);
}

void oauth_init(struct oauth *oauth)
{
    oauth->http = (struct http_app){.ctx = oauth,
                                    .docs_url = oauth->docs_url,
                                    .start = start_step,
                                    .no_route = no_route_step,
                                    .preflight = preflight,
                                    .reject = oauth_reject,
                                    .finish = finish};
    oauth->address_failures =
        failure_limiter_new(&(struct failure_rule){.burst = ADDRESS_BURST, .decay_ms = ADDRESS_DECAY_MS});
    oauth->client_failures =
        failure_limiter_new(&(struct failure_rule){.burst = CLIENT_BURST, .decay_ms = CLIENT_DECAY_MS});
}

void oauth_fini(struct oauth *oauth)
{
    failure_limiter_free(oauth->address_failures);
    failure_limiter_free(oauth->client_failures);
}

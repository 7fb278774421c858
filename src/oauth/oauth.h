/* The authorization server as an application: its context and its routes (RFC 6749, RFC 7009, RFC 8414). The
 * consent page (/oauth/authorize) is one of the web pages. */
#ifndef VT_OAUTH_OAUTH_H
#define VT_OAUTH_OAUTH_H

#include "api/envelope.h"
#include "http/router.h"

struct failure_limiter;
struct store;
struct writer;

/* Owned by the app; lives as long as the server. */
struct oauth {
    struct http_app http; /* for the router; its ctx is this struct */
    struct envelope_settings envelope;
    struct store *store; /* the loop's read connection */
    struct writer *writer;
    struct str base_url; /* as configured: the issuer */
    /* Failures by network address, and wrong secrets by app, from any address. */
    struct failure_limiter *address_failures, *client_failures;
};

/* Fills in `http` and the failure limiters. */
void oauth_init(struct oauth *oauth);
void oauth_fini(struct oauth *oauth);

/* Below the API's base paths: /oauth/token and /oauth/revoke. */
extern const struct route *const oauth_routes[];

/* To be mounted at OAUTH_METADATA_PATH, and at that path followed by the base path of base_url (RFC
 * 8414, 3.1). */
extern const struct route *const oauth_metadata_routes[];
#define OAUTH_METADATA_PATH STR("/.well-known/oauth-authorization-server")

/* The routes; one file each. */
extern const struct route token_route, revoke_route, metadata_route;

#endif

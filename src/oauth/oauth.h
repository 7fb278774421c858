/* The authorization server as an application: its context and its routes (RFC 6749, RFC 7009, RFC 8414). The
 * consent page (/oauth/authorize) is one of the web pages. */
#ifndef VT_OAUTH_OAUTH_H
#define VT_OAUTH_OAUTH_H

#include "api/envelope.h"
#include "http/router.h"

struct failure_limiter;
struct failure_log;
struct store;
struct writer;

/* The context of the authorization server. struct app owns it; it lives as long as the HTTP server. */
struct oauth {
    struct http_app http; /* for the router; its ctx is this struct */
    struct envelope_settings envelope;
    struct store *store; /* the loop's read connection */
    struct writer *writer;
    struct str docs_url; /* URL of the API's documentation, for error bodies */
    struct str base_url; /* [server] base_url, which is also the issuer */
    /* `address_failures` limits failed attempts by network; `client_failures` limits wrong secrets by app. */
    struct failure_limiter *address_failures, *client_failures;
    struct failure_log *failures;
};

/* Sets `http` and creates the failure limiters. The caller sets all other members. */
void oauth_init(struct oauth *oauth);
/* Frees the failure limiters. */
void oauth_fini(struct oauth *oauth);

/* The routes /oauth/token and /oauth/revoke. Mount them at the base paths of the API. */
extern const struct route *const oauth_routes[];

/* The route of the metadata. Mount it at OAUTH_METADATA_PATH, and also at OAUTH_METADATA_PATH followed by the
 * path of base_url (RFC 8414, 3.1). */
extern const struct route *const oauth_metadata_routes[];
#define OAUTH_METADATA_PATH STR("/.well-known/oauth-authorization-server")

/* The single routes, each defined in a file of its own. */
extern const struct route token_route, revoke_route, metadata_route;

#endif

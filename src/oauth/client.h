/* What the token and the revocation endpoint have in common: the fields of the body, authentication of the
 * client, and the format of errors (RFC 6749, 2.3 and 5.2). */
#ifndef VT_OAUTH_CLIENT_H
#define VT_OAUTH_CLIENT_H

#include "http/fields.h"
#include "oauth/oauth.h"
#include "store/apps.h"

/* The fields that identify the client; every endpoint's list of names begins with them. */
#define OAUTH_CLIENT_FIELDS "client_id", "client_secret"
enum { OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET, OAUTH_FIRST_FIELD };

/* r->state of a client's request, in the request's arena. */
struct oauth_call {
    struct oauth *oauth;
    struct store_read read;
    struct fields fields;
    struct str client_id, secret; /* secret.p == NULL: not given */
    struct app_lookup client;     /* after oauth_authenticate_client() */
    request_step *then;
    void *state; /* the endpoint's own */
};

static inline struct oauth_call *oauth_call_of(const struct request *r)
{
    return r->state;
}

/* Reads the body's fields `names` (NULL-terminated). NULL: the request is rejected and the response is made.
 */
struct oauth_call *oauth_read(struct request *r, const char *const *names);

/* Authenticates the client and continues with `then`, or responds with invalid_client. A public client needs
 * no secret. */
enum next oauth_authenticate_client(struct request *r, request_step *then);

/* Counts a failed attempt against the client's address. */
void oauth_record_failure(struct request *r);

/* Makes an error response (RFC 6749, 5.2) and returns NEXT_DONE. `description` is ASCII without quotes and
 * backslashes. */
enum next oauth_error(struct request *r, int status, const char *error, const char *description);
/* server_error, 503: the database is unavailable and nothing was changed. */
enum next oauth_store_error(struct request *r);

/* Status 200 with no-store. */
void oauth_begin_response(struct request *r);

#endif

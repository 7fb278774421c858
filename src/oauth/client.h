/* The parts that the token endpoint and the revocation endpoint share: reading the fields of the body, client
 * authentication, and the format of errors (RFC 6749, 2.3 and 5.2). */
#ifndef VT_OAUTH_CLIENT_H
#define VT_OAUTH_CLIENT_H

#include "http/fields.h"
#include "oauth/oauth.h"
#include "store/apps.h"

/* The fields that identify the client. The list `names` that an endpoint passes to oauth_read_fields() must
 * begin with them. */
#define OAUTH_CLIENT_FIELDS "client_id", "client_secret"
enum { OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET, OAUTH_FIRST_FIELD };

/* The state of a client's request. r->state points to it; it is allocated in the request's arena. */
struct oauth_call {
    struct oauth *oauth;
    struct store_read read;
    struct fields fields;
    struct str client_id, secret; /* secret.p is NULL if not given */
    struct app_lookup client;     /* set by oauth_authenticate_client() */
    request_step *then;           /* the step after the authentication */
    void *state;                  /* private state of the endpoint */
};

static inline struct oauth_call *oauth_call_of(const struct request *r)
{
    return r->state;
}

/* Creates the state of the request and reads the fields `names` (NULL-terminated) from the body. Writes an
 * error response and returns NULL if the body is invalid, or if the client's network must wait because of
 * failed attempts. */
struct oauth_call *oauth_read_fields(struct request *r, const char *const *names);

/* Authenticates the client. Continues with the step `then` on success, otherwise writes an error response. A
 * public client must not send a secret. */
enum next oauth_authenticate_client(struct request *r, request_step *then);

/* Counts a failed attempt of the client's network, and logs it. */
void oauth_record_failure(struct request *r);

/* Writes an error response (RFC 6749, 5.2). `description` must be ASCII without quotes and backslashes.
 * Returns NEXT_DONE. */
enum next oauth_respond_error(struct request *r, int status, const char *error, const char *description);
/* Responds with 503 `server_error`, because a read or a write of the database has failed. The description
 * says that nothing was changed, unless `err` is ERR_UNKNOWN_OUTCOME. Returns NEXT_DONE. */
enum next oauth_respond_store_error(struct request *r, enum err err);
/* Responds to a request that the HTTP server rejects. Use it as http_app.reject. */
void oauth_reject(struct request *r, const char *message);

/* Sets status 200 and `Cache-Control: no-store`. */
void oauth_begin_response(struct request *r);

#endif

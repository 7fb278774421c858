/* What the token and the revocation endpoint share: the body, who the client is, and the form of errors (RFC
 * 6749, 2.3 and 5.2). */
#ifndef VT_OAUTH_CLIENT_H
#define VT_OAUTH_CLIENT_H

#include "api/api.h"
#include "http/fields.h"
#include "store/apps.h"

/* Failed tries: of one address, and wrong secrets of one app from wherever they come. */
struct oauth_guards {
    struct failure_limiter *addresses, *clients;
};
struct oauth_guards *oauth_guards_new(void);
void oauth_guards_free(struct oauth_guards *g);

/* The fields of a body that say who the client is; every endpoint's names begin with these. */
#define OAUTH_CLIENT_FIELDS "client_id", "client_secret"
enum { OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET, OAUTH_FIRST_FIELD };

/* One request of a client, in the arena: call->endpoint. */
struct oauth_call {
    struct fields fields;
    struct str client_id;
    struct app_lookup client; /* once it is known */
    request_step *then;
    bool basic;        /* the client named itself in an Authorization field */
    struct str secret; /* p == NULL: none */
    void *state;       /* the endpoint's own */
};

static inline struct oauth_call *oauth_call_of(const struct request *r)
{
    return call_of(r)->endpoint;
}

/* Reads the body by `names`. NULL: refused, the answer is made. */
struct oauth_call *oauth_read(struct request *r, const char *const *names);

/* Finds out who the client is and goes on with `then`, or answers invalid_client. */
enum next oauth_find_client(struct request *r, request_step *then);

/* Notes a failed try of the client's address. */
void oauth_note_failure(struct request *r);

/* The answer in the form of RFC 6749, 5.2. `description` is ASCII without quotes and backslashes. NEXT_DONE.
 */
enum next oauth_error(struct request *r, int status, const char *error, const char *description);
/* server_error, 503: the database cannot be read or written, and nothing was changed. */
enum next oauth_store_error(struct request *r);

/* Status 200 with no-store. */
void oauth_begin_answer(struct request *r);

#endif

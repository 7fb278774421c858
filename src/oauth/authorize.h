/* An authorization request (RFC 6749, 4.1.1; RFC 7636, 4.3; RFC 9700): what is asked for, in which order it
 * is checked, and the answer's address. Who the author is and what the page looks like is not known here. */
#ifndef VT_OAUTH_AUTHORIZE_H
#define VT_OAUTH_AUTHORIZE_H

#include "http/fields.h"
#include "store/apps.h"

enum { AUTHORIZE_QUERY_MAX = 3500, AUTHORIZE_STATE_MAX = 2048 };

struct authorize_request {
    struct fields fields;
    struct str client_id;
    struct str redirect_uri; /* one of the app's, once authorize_check_redirect() said so */
    struct str state;        /* any bytes; p == NULL: none */
    struct str challenge;
};

/* Reads the query as far as the client_id. NULL, or a sentence for a page: nothing may be redirected yet. */
const char *authorize_read(struct authorize_request *q, struct arena *a, struct str query);

/* The same for the redirect address. `app` may be NULL: there is no such app. */
const char *authorize_check_redirect(struct authorize_request *q, const struct app_lookup *app);

/* Everything else. NULL, or the error code and its description for the app: from here on it is told. */
const char *authorize_check(struct authorize_request *q, const char **description);

/* Where the answer is sent: with `code`, or with `error`. `iss` is the issuer (RFC 9207). */
struct str authorize_answer(struct arena *a, const struct authorize_request *q, struct str iss,
                            struct str code);
struct str authorize_error(struct arena *a, const struct authorize_request *q, struct str iss,
                           const char *error, const char *description);

#endif

/* Authorization requests (RFC 6749, 4.1.1; RFC 7636, 4.3; RFC 9700): parsing, validation and the redirect URI
 * of the response. The consent page calls these functions in the order below. It must not redirect before
 * authorize_check_redirect() has succeeded. */
#ifndef VT_OAUTH_AUTHORIZE_H
#define VT_OAUTH_AUTHORIZE_H

#include "http/fields.h"
#include "store/apps.h"

enum { AUTHORIZE_QUERY_MAX = 3500, AUTHORIZE_STATE_MAX = 2048 };

struct authorize_request {
    struct fields fields;
    struct str client_id;
    struct str redirect_uri; /* set by authorize_check_redirect(), so it is always a URI that the app has
                                registered */
    struct str state;        /* any bytes; p is NULL if not given */
    struct str challenge;
};

/* Decodes the query and reads the client_id. Returns NULL on success, otherwise a sentence for an error
 * page. */
const char *authorize_read(struct authorize_request *q, struct arena *a, struct str query);

/* Checks the app and its redirect URI. `app` is NULL if no app has the client_id. Returns NULL if both are
 * valid, otherwise a sentence for an error page. */
const char *authorize_check_redirect(struct authorize_request *q, const struct app_lookup *app);

/* Checks all other parameters. Returns NULL if they are valid. Otherwise returns an OAuth error code and sets
 * `*description` to its reason; send both to the app with authorize_error_uri(). */
const char *authorize_check_parameters(struct authorize_request *q, const char **description);

/* Each function returns the redirect URI of the request with the parameters of the response: a code or an
 * error. The URI is allocated in the arena. `iss` is the issuer (RFC 9207). */
struct str authorize_code_uri(struct arena *a, const struct authorize_request *q, struct str iss,
                              struct str code);
struct str authorize_error_uri(struct arena *a, const struct authorize_request *q, struct str iss,
                               const char *error, const char *description);

#endif

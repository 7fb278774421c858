/* Redirect URIs of apps: validation before registration, and comparison with a registered URI (RFC 6749,
 * 3.1.2; RFC 8252, 7 and 8; RFC 9700, 2.1 and 4.1). */
#ifndef VT_OAUTH_REDIRECT_H
#define VT_OAUTH_REDIRECT_H

#include "base/arena.h"
#include "base/buf.h"

enum { REDIRECT_MAX = 2000, REDIRECTS_MAX = 20 };

enum redirect_kind {
    REDIRECT_WEB,      /* https */
    REDIRECT_LOOPBACK, /* http on 127.0.0.1 or [::1]: a program on the author's own computer */
    REDIRECT_PRIVATE,  /* a private-use scheme, which contains a dot: com.example.app:/connected */
};

/* Returns NULL if the URI may be registered, else the reason as a predicate: "is longer than 2,000 bytes". */
const char *redirect_check(struct str uri);

/* The functions below expect a `uri` or `registered` for which redirect_check() returned NULL. */

enum redirect_kind redirect_kind_of(struct str uri);

/* Returns true if both URIs are equal byte by byte. Only the port of a loopback URI may differ (RFC
 * 8252, 7.3). `given` may be any string; it does not match if it is longer than REDIRECT_MAX. */
bool redirect_matches(struct str registered, struct str given);

/* Returns the CSP source that permits the redirect: scheme://host[:port], or for a private-use URI "scheme:".
 */
struct str redirect_origin(struct str uri);

/* Returns host[:port], or the scheme of a private-use URI, for display. */
struct str redirect_display_name(struct str uri);

struct redirect_param {
    const char *name;
    struct str value; /* may contain any bytes; if p is NULL, the parameter is omitted */
};
/* Returns the URI with `count` parameters added to its query, allocated in the arena. */
struct str redirect_add_parameters(struct arena *a, struct str uri, const struct redirect_param *params,
                                   size_t count);

#endif

/* Redirect addresses of apps: which ones may be registered, and which ones match a registered one (RFC
 * 6749, 3.1.2; RFC 8252, 7 and 8; RFC 9700, 2.1 and 4.1). */
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

/* NULL if the address may be registered, else the reason as a predicate: "is longer than 2,000 bytes". */
const char *redirect_check(struct str uri);

/* The functions below expect an address for which redirect_check() returned NULL. */

enum redirect_kind redirect_kind_of(struct str uri);

/* True if both are equal byte by byte, except that the port of a loopback address may differ (RFC 8252, 7.3).
 * `given` may be any string. */
bool redirect_matches(struct str registered, struct str given);

/* scheme://host[:port], or "scheme:" of a private-use address: the CSP source that permits the redirect. */
struct str redirect_origin(struct str uri);

/* host[:port], or the scheme of a private-use address, for people to recognize. */
struct str redirect_display_name(struct str uri);

/* Returns the address with parameters added to its query, in the arena. A value may contain any bytes. */
struct redirect_param {
    const char *name;
    struct str value; /* p == NULL: left out */
};
struct str redirect_build(struct arena *a, struct str uri, const struct redirect_param *params, size_t count);

#endif

/* Redirect addresses of apps: which may be registered, and which one a request may name (RFC 6749, 3.1.2;
 * RFC 8252, 7 and 8; RFC 9700, 2.1 and 4.1). */
#ifndef VT_OAUTH_REDIRECT_H
#define VT_OAUTH_REDIRECT_H

#include "base/arena.h"
#include "base/buf.h"

enum { REDIRECT_MAX = 2000, REDIRECTS_MAX = 20 };

enum redirect_kind {
    REDIRECT_WEB,      /* https */
    REDIRECT_LOOPBACK, /* http on 127.0.0.1 or [::1]: a program on the author's own computer */
    REDIRECT_PRIVATE,  /* a scheme of the app's own, with a dot: com.example.app:/connected */
};

/* Whether it may be registered; else `*why` says what is wrong, as the end of a sentence. */
bool redirect_is_allowed(struct str uri, const char **why);

/* Of an address that may be registered. */
enum redirect_kind redirect_kind_of(struct str uri);

/* Exactly the same bytes; of a loopback address the port may be any (RFC 8252, 7.3). */
bool redirect_matches(struct str registered, struct str given);

/* scheme://host[:port], or "scheme:" of a private-use address. What a browser must be allowed to be sent to.
 */
struct str redirect_origin(struct str uri);

/* host[:port], or the scheme of a private-use address: what a person recognises. */
struct str redirect_place(struct str uri);

/* Builds "uri?name=value&…": appends to a query that is there. A value may hold any bytes. */
struct redirect_param {
    const char *name;
    struct str value; /* p == NULL: left out */
};
struct str redirect_build(struct arena *a, struct str uri, const struct redirect_param *params, size_t count);

#endif

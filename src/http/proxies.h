/* Which peers may say in X-Forwarded-For for whom they ask. */
#ifndef VT_HTTP_PROXIES_H
#define VT_HTTP_PROXIES_H

#include "base/str.h"

enum { PROXIES_MAX = 64 };

struct proxies {
    size_t count;
    bool unix_sockets;
    struct {
        unsigned char address[16]; /* IPv4 as ::ffff:a.b.c.d */
        unsigned bits;
    } networks[PROXIES_MAX];
};

/* Adds an address, a CIDR network or "unix". False: it is none of these, or there are too many. */
bool proxies_add(struct proxies *p, struct str text);

/* The peer is one of them. */
bool proxies_trust(const struct proxies *p, struct str peer, bool is_unix);

/* The client's address: `peer` itself when it is not `trusted` (proxies_trust()), else the right-most address
 * in `forwarded` (X-Forwarded-For, may have p == NULL) that is not trusted. Text that is no address ends the
 * search: the address before it stands. */
struct str proxies_client(const struct proxies *p, struct str peer, bool trusted, struct str forwarded);

#endif

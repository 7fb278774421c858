/* Trusted proxies: the server uses X-Forwarded-For only if the peer of the connection is one of them. */
#ifndef VT_HTTP_PROXIES_H
#define VT_HTTP_PROXIES_H

#include "base/ip_network.h"

enum { PROXIES_MAX = 64 };

struct proxies {
    size_t count;
    bool unix_sockets;
    struct ip_network networks[PROXIES_MAX];
};

/* Adds a trusted proxy: an address, a CIDR network, or "unix" for all Unix sockets. Returns false for other
 * text, and if there are already PROXIES_MAX networks. */
bool proxies_add(struct proxies *p, struct str text);

/* Returns true if the peer is a trusted proxy. */
bool proxies_is_trusted(const struct proxies *p, struct str peer, bool is_unix);

/* Returns the address of the client. If the peer is not `trusted` (see proxies_is_trusted()), this is `peer`.
 * Otherwise it is the rightmost address in `forwarded`, the value of X-Forwarded-For, that is not a trusted
 * proxy. If all addresses are trusted proxies, the result is the leftmost one. Text that is not an address,
 * and everything to the left of it, is ignored. forwarded.p may be NULL. */
struct str proxies_find_client(const struct proxies *p, struct str peer, bool trusted, struct str forwarded);

#endif

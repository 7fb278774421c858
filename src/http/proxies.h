/* The trusted proxies: peers whose X-Forwarded-For header is used. */
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

/* Adds an address, a CIDR network or "unix". Returns false for other text, and above PROXIES_MAX. */
bool proxies_add(struct proxies *p, struct str text);

/* True if the peer is a trusted proxy. */
bool proxies_trust(const struct proxies *p, struct str peer, bool is_unix);

/* The address of the client: `peer` if it is not `trusted` (proxies_trust()), else the rightmost address in
 * `forwarded` that is not a trusted proxy. `forwarded` is X-Forwarded-For and may have p == NULL. The search
 * from the right stops at text that is not an address and returns the last address found. */
struct str proxies_client(const struct proxies *p, struct str peer, bool trusted, struct str forwarded);

#endif

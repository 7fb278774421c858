/* IP addresses and networks in CIDR notation. An IPv4 address is stored as an IPv4-mapped IPv6 address
 * (::ffff:a.b.c.d), so that addresses of both families are compared as 16 bytes. */
#ifndef VT_BASE_IP_NETWORK_H
#define VT_BASE_IP_NETWORK_H

#include "base/str.h"

struct ip_address {
    unsigned char b[16];
};

struct ip_network {
    struct ip_address address;
    unsigned bits; /* prefix length of the IPv6 form, 0 to 128; 104 for "10.0.0.0/8" */
};

/* Parses "192.0.2.1" or "2001:db8::1". Returns false for other text. Sets `*is_v4` to true if the text is in
 * IPv4 notation, otherwise to false; `is_v4` may be NULL. */
bool ip_address_parse(struct str text, struct ip_address *out, bool *is_v4);

/* Returns true for an IPv4 address, also if it was written as ::ffff:a.b.c.d. */
bool ip_address_is_v4(const struct ip_address *address);

/* Parses an address, or a network such as "10.0.0.0/8". Returns false for other text. */
bool ip_network_parse(struct str text, struct ip_network *out);

/* Returns true if the network contains the address. */
bool ip_network_contains(const struct ip_network *network, const struct ip_address *address);

#endif

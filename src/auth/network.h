/* The network of a client: the part of its address that a customer of a provider cannot change at will. */
#ifndef VT_AUTH_NETWORK_H
#define VT_AUTH_NETWORK_H

#include "base/str.h"

enum { NETWORK_ROOM = 16 };

/* Returns a name for limiters, equal for all clients of one network: the whole IPv4 address, or the first 64
 * bits of an IPv6 address. IPv4 in IPv6 (::ffff:a.b.c.d, and 64:ff9b::/96 of RFC 6052) counts as IPv4; a zone
 * (%eth0) is ignored. Any other text, such as "unix", is its own network. The result is a slice
 * of `address` or of `room`. */
struct str network_of_address(struct str address, char room[NETWORK_ROOM]);

#endif

/* The network of a client: what of its address one customer cannot change at will. */
#ifndef VT_AUTH_NETWORK_H
#define VT_AUTH_NETWORK_H

#include "base/str.h"

enum { NETWORK_ROOM = 16 };

/* A name for limiters, equal for clients of one network: all of an IPv4 address, the first 64 bits of an IPv6
 * one. IPv4 inside IPv6 (::ffff:a.b.c.d, and 64:ff9b::/96 of RFC 6052) is the IPv4 address; a zone (%eth0)
 * does not count. Text that is no address, such as "unix", is its own network. A slice of `address` or of
 * `room`. */
struct str network_of_address(struct str address, char room[NETWORK_ROOM]);

#endif

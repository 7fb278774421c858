/* The network of a client: the part of its IP address that the client cannot change easily. */
#ifndef VT_AUTH_NETWORK_H
#define VT_AUTH_NETWORK_H

#include "base/str.h"

enum { NETWORK_ROOM = 16 };

/* Returns the network as a name for limiters: the whole IPv4 address, or the first 64 bits of an IPv6
 * address. All clients in a network have the same name. IPv4 in IPv6 (::ffff:a.b.c.d, and 64:ff9b::/96 of RFC
 * 6052) counts as IPv4; a zone (%eth0) is ignored. Text that is not an address, such as "unix", is returned
 * unchanged. The result points into `address` or `room`. */
struct str network_of_address(struct str address, char room[NETWORK_ROOM]);

#endif

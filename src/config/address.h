/* Parses the addresses of [server] listen and [admin] listen. */
#ifndef VT_CONFIG_ADDRESS_H
#define VT_CONFIG_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* Returns the path of an address "unix:/path", or NULL for other addresses. The path points into
 * `address`. */
const char *address_unix_path(const char *address);

/* Parses "127.0.0.1:8080" or "[::1]:8080". Returns false for other text, including host names. */
bool address_parse_tcp(const char *address, struct sockaddr_storage *out);

#endif

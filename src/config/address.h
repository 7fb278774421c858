/* Addresses as they are written in [server] listen and [admin] listen. */
#ifndef VT_CONFIG_ADDRESS_H
#define VT_CONFIG_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* The path of unix:/path; NULL: it is no such address. */
const char *address_unix_path(const char *address);

/* "127.0.0.1:8080" or "[::1]:8080". Opens and looks up nothing. */
bool address_parse_tcp(const char *address, struct sockaddr_storage *out);

#endif

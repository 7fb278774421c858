/* Addresses of [server] listen and [admin] listen. */
#ifndef VT_CONFIG_ADDRESS_H
#define VT_CONFIG_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* The path of a unix:/path address; NULL for other addresses. */
const char *address_unix_path(const char *address);

/* Parses "127.0.0.1:8080" or "[::1]:8080"; host names are not supported. */
bool address_parse_tcp(const char *address, struct sockaddr_storage *out);

#endif

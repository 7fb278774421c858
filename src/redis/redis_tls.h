/* TLS to Redis: who is trusted, and what a failed handshake meant. The connection itself is redis.c's.
 *
 * A server must show a certificate that the system's authorities (or those of `ca_file`) vouch for and that
 * names the host of the URL, be it a name or an address; TLS 1.2 at least. (OpenSSL has a tls_free() and
 * others of its own, hence the longer names.) */
#ifndef VT_REDIS_REDIS_TLS_H
#define VT_REDIS_REDIS_TLS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct redis_tls;
struct ssl_st; /* OpenSSL's SSL */

/* NUL-terminated; "" or NULL: none. */
struct redis_tls_files {
    const char *ca_file;              /* none: the system's authorities */
    const char *cert_file, *key_file; /* our own certificate, both or none */
};

/* Reads the files. NULL: `why` (of `size` bytes) says what is wrong with them. */
struct redis_tls *redis_tls_new(const struct redis_tls_files *files, char *why, size_t size);
void redis_tls_free(struct redis_tls *t);

/* The client side of a new connection to `host`, for redisInitiateSSL(), which owns it once that succeeded.
 * NULL: out of memory or not a host. */
struct ssl_st *redis_tls_session_new(struct redis_tls *t, const char *host);
void redis_tls_session_free(struct ssl_st *s);

/* Why the connection has just been lost: `room` if TLS is the reason, else `socket_says`. `opening`: before
 * the first reply. `s` NULL: a connection without TLS. */
const char *redis_tls_explain_loss(struct ssl_st *s, bool opening, const char *socket_says, char *room,
                                   size_t size);

#endif

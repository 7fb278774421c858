/* TLS for Redis: which certificates are accepted, and what a failed handshake means. hiredis moves the bytes.
 *
 * TLS 1.2 or newer. The server needs a certificate that is signed by an authority of the system (or of
 * `ca_file`) and names the host of the URL, which may be a name or an address. */
#ifndef VT_REDIS_REDIS_TLS_H
#define VT_REDIS_REDIS_TLS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct redis_tls;
struct ssl_st; /* SSL of OpenSSL */

/* NUL-terminated; "" or NULL: none. */
struct redis_tls_files {
    const char *ca_file;              /* none: the authorities of the system */
    const char *cert_file, *key_file; /* client certificate: both or none */
};

/* Reads the files. Returns NULL and sets `error` on failure. */
struct redis_tls *redis_tls_new(const struct redis_tls_files *files, struct error *error);
void redis_tls_free(struct redis_tls *t);

/* The client side of a new connection to `host`. redisInitiateSSL() takes ownership if it succeeds. Returns
 * NULL if out of memory, or if `host` is invalid. */
struct ssl_st *redis_tls_session_new(struct redis_tls *t, const char *host);
void redis_tls_session_free(struct ssl_st *s);

/* Explains why a connection was lost. Returns `out` if TLS is the reason, else `socket_error`. `opening`: no
 * reply was received yet. `s` NULL: a connection without TLS. */
const char *redis_tls_explain_loss(struct ssl_st *s, bool opening, const char *socket_error, char *out,
                                   size_t size);

#endif

/* TLS for Redis: verifies certificates and explains failed handshakes. hiredis transfers the data.
 *
 * TLS 1.2 or newer is required. The server's certificate must be signed by a certificate authority of the
 * system (or of `ca_file`), and it must contain the host of the URL, which may be a name or an address. */
#ifndef VT_REDIS_REDIS_TLS_H
#define VT_REDIS_REDIS_TLS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct redis_tls;
struct ssl_st; /* SSL of OpenSSL */

/* The paths are NUL-terminated. A path that is not set is "" or NULL. */
struct redis_tls_files {
    const char *ca_file;              /* if not set, the system's certificate authorities are used */
    const char *cert_file, *key_file; /* client certificate: set both or neither */
};

/* Reads the files and creates a TLS context. Returns NULL and sets `error` on failure. */
struct redis_tls *redis_tls_new(const struct redis_tls_files *files, struct error *error);
void redis_tls_free(struct redis_tls *t);

/* Creates the client side of a new connection to `host`. redisInitiateSSL() takes ownership of it if it
 * succeeds; otherwise call redis_tls_session_free(). Returns NULL if out of memory, or if `host` is
 * invalid. */
struct ssl_st *redis_tls_session_new(struct redis_tls *t, const char *host);
void redis_tls_session_free(struct ssl_st *s);

/* Explains why a connection was lost. If TLS is the reason, writes a text to `out` and returns `out`;
 * otherwise returns `socket_error`. `opening` is true if no reply has been received yet. `s` is NULL if the
 * connection does not use TLS. */
const char *redis_tls_explain_loss(struct ssl_st *s, bool opening, const char *socket_error, char *out,
                                   size_t size);

#endif

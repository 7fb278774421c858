/* Trap of OpenSSL: errors are queued per thread, and SSL_get_error(), which hiredis calls, misreads the
 * result while old errors are queued. Every failing path here leaves the queue empty. */
#include "redis/redis_tls.h"

#include "base/ca_bundle.h"
#include "base/check.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

struct redis_tls {
    SSL_CTX *context;
};

static bool is_set(const char *text)
{
    return text && *text;
}

static bool load_authorities(SSL_CTX *c, const struct redis_tls_files *files)
{
    const char *file = is_set(files->ca_file) ? files->ca_file : ca_bundle_find();
    return file ? SSL_CTX_load_verify_locations(c, file, NULL) == 1
                : SSL_CTX_set_default_verify_paths(c) == 1;
}

static bool load_client_certificate(SSL_CTX *c, const struct redis_tls_files *files)
{
    return SSL_CTX_use_certificate_chain_file(c, files->cert_file) == 1 &&
           SSL_CTX_use_PrivateKey_file(c, files->key_file, SSL_FILETYPE_PEM) == 1 &&
           SSL_CTX_check_private_key(c) == 1;
}

/* Returns the first error in the queue and empties the queue. The first error is the cause; later ones are
 * consequences. */
static const char *pop_error(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return reason ? reason : "no reason given";
}

static enum err configure(SSL_CTX *c, const struct redis_tls_files *files, struct error *error)
{
    if (!c || SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) != 1)
        return error_set(error, ERR_NOMEM, "TLS cannot be set up: %s", pop_error());
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    if (!load_authorities(c, files))
        return error_set(error, ERR_INVALID, "ca_file %s: %s",
                         is_set(files->ca_file) ? files->ca_file : "(of the system)", pop_error());
    if (is_set(files->cert_file) != is_set(files->key_file))
        return error_set(error, ERR_INVALID, "set client_cert_file and client_key_file together");
    if (is_set(files->cert_file) && !load_client_certificate(c, files))
        return error_set(error, ERR_INVALID, "client_cert_file %s with client_key_file %s: %s",
                         files->cert_file, files->key_file, pop_error());
    return OK;
}

struct redis_tls *redis_tls_new(const struct redis_tls_files *files, struct error *error)
{
    struct redis_tls *t = try_calloc(1, sizeof *t);
    if (!t) {
        (void)error_set(error, ERR_NOMEM, "TLS cannot be set up: out of memory");
        return NULL;
    }
    t->context = SSL_CTX_new(TLS_client_method());
    if (configure(t->context, files, error) == OK)
        return t;
    redis_tls_free(t);
    return NULL;
}

void redis_tls_free(struct redis_tls *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->context);
    free(t);
}

/* Sets the host that the server's certificate must contain. An address is compared with the addresses in
 * the certificate, and is not sent as the server name (RFC 6066, section 3). */
static bool expect_host(SSL *s, const char *host)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s), host) == 1)
        return true;
    SSL_set_hostflags(s, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(s, host) == 1 && SSL_set_tlsext_host_name(s, host) == 1;
}

struct ssl_st *redis_tls_session_new(struct redis_tls *t, const char *host)
{
    SSL *s = SSL_new(t->context);
    if (s && !expect_host(s, host)) {
        SSL_free(s);
        s = NULL;
    }
    ERR_clear_error();
    return s;
}

void redis_tls_session_free(struct ssl_st *s)
{
    SSL_free(s);
    ERR_clear_error();
}

/* Returns the TLS error, or NULL if none exists. With TLS 1.3, a server that rejects the client
 * certificate sends its alert after the handshake, when the client may already write. If a write has
 * failed, the alert may still be unread, so this function tries to read it. */
static const char *find_reason(SSL *s)
{
    char byte;
    if (!ERR_peek_error() && SSL_is_init_finished(s))
        (void)SSL_peek(s, &byte, 1);
    return ERR_reason_error_string(ERR_peek_error());
}

static bool explain(struct ssl_st *s, char *out, size_t size)
{
    const long verified = SSL_get_verify_result(s);
    const bool is_finished = SSL_is_init_finished(s);
    const char *reason = find_reason(s);
    if (verified != X509_V_OK)
        (void)snprintf(out, size, "TLS: the server's certificate is not accepted: %s",
                       X509_verify_cert_error_string(verified));
    else if (reason)
        (void)snprintf(out, size, "TLS: %s", reason);
    else if (!is_finished)
        (void)snprintf(out, size, "TLS: no reply to the handshake; does this port use TLS?");
    ERR_clear_error();
    return verified != X509_V_OK || reason || !is_finished;
}

/* Prefers a TLS error, because it is more specific than a socket error. With TLS 1.3, a server rejects the
 * client certificate after the handshake, and its connection reset may arrive before its alert. */
const char *redis_tls_explain_loss(struct ssl_st *s, bool opening, const char *socket_error, char *out,
                                   size_t size)
{
    if (!s)
        return socket_error;
    const bool is_explained = explain(s, out, size);
    if (!is_explained && !opening)
        return socket_error;
    if (!is_explained)
        (void)snprintf(out, size, "TLS: %s after the handshake; does Redis require a client certificate?",
                       socket_error);
    return out;
}

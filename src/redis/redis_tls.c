/* The only file that knows OpenSSL. Knows neither Redis nor the loop: hiredis moves the bytes.
 *
 * OpenSSL keeps its errors in a queue of the thread, and SSL_get_error(), which hiredis asks, is wrong while
 * old ones stand there: whoever fails here leaves the queue empty. */
#include "redis/redis_tls.h"

#include "base/check.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

struct redis_tls {
    SSL_CTX *context;
};

static bool given(const char *text)
{
    return text && *text;
}

static bool load_authorities(SSL_CTX *c, const struct redis_tls_files *files)
{
    return given(files->ca_file) ? SSL_CTX_load_verify_locations(c, files->ca_file, NULL) == 1
                                 : SSL_CTX_set_default_verify_paths(c) == 1;
}

static bool load_own(SSL_CTX *c, const struct redis_tls_files *files)
{
    return SSL_CTX_use_certificate_chain_file(c, files->cert_file) == 1 &&
           SSL_CTX_use_PrivateKey_file(c, files->key_file, SSL_FILETYPE_PEM) == 1 &&
           SSL_CTX_check_private_key(c) == 1;
}

/* The first error is the cause, those behind it say where it was met. */
static const char *take_error(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return reason ? reason : "no reason given";
}

static bool configure(SSL_CTX *c, const struct redis_tls_files *files, char *why, size_t size)
{
    if (!c || SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) != 1) {
        (void)snprintf(why, size, "TLS cannot be set up: %s", take_error());
        return false;
    }
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    if (!load_authorities(c, files)) {
        (void)snprintf(why, size, "ca_file %s: %s", given(files->ca_file) ? files->ca_file : "(system's)",
                       take_error());
        return false;
    }
    if (given(files->cert_file) != given(files->key_file)) {
        (void)snprintf(why, size, "client_cert_file and client_key_file go together");
        return false;
    }
    if (given(files->cert_file) && !load_own(c, files)) {
        (void)snprintf(why, size, "client_cert_file %s with client_key_file %s: %s", files->cert_file,
                       files->key_file, take_error());
        return false;
    }
    return true;
}

struct redis_tls *redis_tls_new(const struct redis_tls_files *files, char *why, size_t size)
{
    struct redis_tls *t = try_calloc(1, sizeof *t);
    if (!t) {
        (void)snprintf(why, size, "TLS cannot be set up: out of memory");
        return NULL;
    }
    t->context = SSL_CTX_new(TLS_client_method());
    if (configure(t->context, files, why, size))
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

/* An address is compared with the certificate's addresses and is no server name (RFC 6066, 3). */
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

/* With TLS 1.3 a server that refuses our certificate says so when we have begun to write: its alert then
 * stands unread behind a write that failed. */
static const char *find_reason(SSL *s)
{
    char byte;
    if (!ERR_peek_error() && SSL_is_init_finished(s))
        (void)SSL_peek(s, &byte, 1);
    return ERR_reason_error_string(ERR_peek_error());
}

static bool explain(struct ssl_st *s, char *out, size_t size)
{
    long verified = SSL_get_verify_result(s);
    const char *reason = find_reason(s);
    if (verified != X509_V_OK)
        (void)snprintf(out, size, "TLS: its certificate is not accepted: %s",
                       X509_verify_cert_error_string(verified));
    else if (reason)
        (void)snprintf(out, size, "TLS: %s", reason);
    else if (!SSL_is_init_finished(s))
        (void)snprintf(out, size, "TLS: the handshake was not answered; does this port speak TLS?");
    ERR_clear_error();
    return verified != X509_V_OK || reason || !SSL_is_init_finished(s);
}

/* The words of TLS come before those of the socket. With TLS 1.3 a server refuses our certificate behind the
 * handshake, and its reset may overtake its reason. */
const char *redis_tls_explain_loss(struct ssl_st *s, bool opening, const char *socket_says, char *room,
                                   size_t size)
{
    if (!s)
        return socket_says;
    const bool explained = explain(s, room, size);
    if (!explained && !opening)
        return socket_says;
    if (!explained)
        (void)snprintf(room, size, "TLS: %s behind the handshake; does Redis want a certificate of ours?",
                       socket_says);
    return room;
}

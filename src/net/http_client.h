/* An HTTPS client on a libuv loop. Each loop has its own client; clients share nothing.
 *
 * TLS is verified with the system's certificate authorities (SSL_CERT_FILE and SSL_CERT_DIR are honored) or
 * with `ca_file`. HTTP/2 is used if the server offers it, and the proxy of the environment (HTTPS_PROXY,
 * ALL_PROXY, NO_PROXY), except for addresses of this machine. Redirects are not followed but returned as
 * responses, so that a response cannot redirect a token.
 *
 * Requests and responses are never logged. The client's copies are wiped when the call ends. */
#ifndef VT_NET_HTTP_CLIENT_H
#define VT_NET_HTTP_CLIENT_H

#include "base/error.h"
#include "net/http_message.h"

#include <stdint.h>
#include <uv.h>

struct http_client;
struct http_call;

enum transport_error {
    TRANSPORT_OK,        /* a complete response, whatever its status */
    TRANSPORT_DNS,       /* the host name could not be resolved */
    TRANSPORT_CONNECT,   /* no connection to the server or the proxy */
    TRANSPORT_TLS,       /* handshake failed, or the certificate was rejected */
    TRANSPORT_TIMEOUT,   /* connecting or the whole call took too long, or the transfer stalled */
    TRANSPORT_RESET,     /* the connection was closed before the response was complete */
    TRANSPORT_TOO_LARGE, /* body or headers exceed their limit */
    TRANSPORT_PROTOCOL,  /* not valid HTTP, or a body that cannot be decompressed */
    TRANSPORT_REQUEST,   /* our request is invalid, or its origin is not allowed */
};
enum { TRANSPORT_ERRORS = 9 };

/* "ok", "dns", "connect" …, for metrics, logs and tables. Static. */
const char *transport_error_name(enum transport_error e);

enum {
    HTTP_CLIENT_HEADER_BYTES = 64 * 1024,
    HTTP_CLIENT_HEADERS_MAX = 200,
    HTTP_CLIENT_BODY_BYTES = 2 * 1024 * 1024
};

/* Texts must outlive the client. */
struct http_client_options {
    const char *ca_file;     /* NULL or "": the system's certificate authorities */
    const char *unix_socket; /* path of a Unix socket to connect to instead of the origin's host; NULL: TCP */
    bool allow_http;         /* also allow http:// origins, and use no proxy: for a server on this machine */
    int64_t connect_timeout_ms, timeout_ms;
    size_t body_max;       /* decompressed */
    long host_connections; /* per host; further calls wait, and the wait counts against timeout_ms */
};

/* ERR_INVALID if libcurl was built without a feature that we need. Call at start; thread-safe. */
MUST_USE enum err http_client_check(struct error *error);

/* NULL: out of memory. */
struct http_client *http_client_new(uv_loop_t *loop, const struct http_client_options *options);

struct http_result {
    enum transport_error error;
    struct http_response response; /* of TRANSPORT_OK */
    const char *why; /* of all errors: for the log; contains nothing of the request or response */
    int64_t took_ms;
};

/* Starts a call. The request is copied. `done` is called once from the loop, never before this returns; the
 * result is valid until it returns. `done` may send, cancel other calls and close the client.
 *
 * If the server closes a reused connection without a byte of response, the request is sent once more, unless
 * request->once, which always gets a new connection. */
struct http_call *http_client_send(struct http_client *client, const struct http_request *request,
                                   void (*done)(void *ctx, const struct http_result *result), void *ctx);

/* Cancels a call whose `done` has not been called yet; `done` will not be called. Does not block. */
void http_client_cancel(struct http_call *call);

/* Number of calls in flight. */
size_t http_client_call_count(const struct http_client *client);

/* Cancels all calls and frees the client. `closed` is called from the loop once all handles are closed, never
 * before this returns. */
void http_client_close(struct http_client *client, void (*closed)(void *ctx), void *ctx);

#endif

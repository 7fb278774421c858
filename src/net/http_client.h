/* An HTTPS client that runs on a libuv loop. Each loop needs its own client; clients share no state.
 *
 * The server's certificate is verified with the system's certificate authorities (SSL_CERT_FILE and
 * SSL_CERT_DIR are honored) or with `ca_file`. The client uses HTTP/2 if the server offers it. It uses the
 * proxy that the environment names (HTTPS_PROXY, ALL_PROXY, NO_PROXY), but never for origins at 127.0.0.0/8
 * or [::1]. It does not follow redirects but returns them as responses, so that a redirect cannot send a
 * token to another host.
 *
 * Requests and responses are never logged. The client overwrites its copies of them when the call ends. */
#ifndef VT_NET_HTTP_CLIENT_H
#define VT_NET_HTTP_CLIENT_H

#include "base/error.h"
#include "net/http_message.h"

#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

struct http_client;
struct http_call;

enum transport_error {
    TRANSPORT_OK,        /* a complete response with any status */
    TRANSPORT_DNS,       /* the host name could not be resolved */
    TRANSPORT_CONNECT,   /* no connection to the server or the proxy could be opened */
    TRANSPORT_TLS,       /* the TLS handshake failed, or the certificate was rejected */
    TRANSPORT_TIMEOUT,   /* connecting or the whole call took too long */
    TRANSPORT_RESET,     /* the connection was closed before the response was complete */
    TRANSPORT_TOO_LARGE, /* the body or the headers of the response exceed their limit */
    TRANSPORT_PROTOCOL,  /* the response is not valid HTTP, or its body cannot be decompressed */
    TRANSPORT_REQUEST,   /* the request is invalid, its origin is not allowed, or memory ran out */
    TRANSPORT_ADDRESS,   /* options->allow_address rejected the address of the server */
};
enum { TRANSPORT_ERRORS = TRANSPORT_ADDRESS + 1 };

/* Returns "ok", "dns", "connect" and so on, for metrics, logs and tables. The string is static. */
const char *transport_error_name(enum transport_error e);

enum {
    HTTP_CLIENT_HEADER_BYTES = 64 * 1024,
    HTTP_CLIENT_HEADERS_MAX = 200,
    HTTP_CLIENT_BODY_BYTES = 2 * 1024 * 1024
};

/* The strings must outlive the client. */
struct http_client_options {
    const char *ca_file;     /* if NULL or "", the system's certificate authorities are used */
    const char *unix_socket; /* if not NULL, connect to this Unix socket instead of the origin's host */
    bool allow_http; /* also allow http:// origins, and use no proxy; only for a server on this machine or an
                        http:// URL that the operator has configured */
    int64_t connect_timeout_ms, timeout_ms;
    size_t body_max;       /* maximum size of a decompressed response body, in bytes */
    long host_connections; /* maximum number of connections per host; further calls wait, and the wait counts
                              toward timeout_ms */
    /* While a connection to the host is being opened, open another one for the next call. By default, the
     * next call waits instead, because with HTTP/2 both calls can share the connection. If the server does
     * not support ALPN, the wait ends only with the server's first response. */
    bool opens_connections_in_parallel;
    /* If not NULL, called with the address of the server before each connection. If it returns false, no
     * packet is sent to this address. If this function is set, the client uses no proxy, because a proxy
     * would resolve the host name itself. */
    bool (*allow_address)(void *ctx, const struct sockaddr *address);
    void *allow_address_ctx;
};

/* Checks the installed libcurl. Call when the process starts. Returns ERR_INVALID if libcurl was built
 * without a feature that the client needs. Thread-safe. */
MUST_USE enum err http_client_check(struct error *error);

/* Creates a client. Returns NULL if out of memory. */
struct http_client *http_client_new(uv_loop_t *loop, const struct http_client_options *options);

struct http_result {
    enum transport_error error;
    struct http_response response; /* only if `error` is TRANSPORT_OK */
    const char *why; /* reason of the error, for the log; contains no part of the request or response */
    int64_t took_ms; /* duration of the call in ms */
};

/* Starts a call. The request is copied. `done` is called once on the loop, never before http_client_send()
 * returns. The result is valid until `done` returns. `done` may start calls, cancel other calls, and close
 * the client.
 *
 * If the server closes a reused connection before it sends a byte of the response, the client sends the
 * request again. If request->once is set, the client uses a new connection and never sends the request
 * again. */
struct http_call *http_client_send(struct http_client *client, const struct http_request *request,
                                   void (*done)(void *ctx, const struct http_result *result), void *ctx);

/* Cancels a call whose `done` has not been called yet; `done` will not be called. Does not block. */
void http_client_cancel(struct http_call *call);

/* Returns the number of calls in flight. */
size_t http_client_count_calls(const struct http_client *client);

/* Cancels all calls and frees the client. `closed` is called on the loop when all handles are closed, never
 * before http_client_close() returns. */
void http_client_close(struct http_client *client, void (*closed)(void *ctx), void *ctx);

#endif

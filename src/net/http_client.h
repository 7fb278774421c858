/* Calls over HTTPS to the platforms, on any loop: a thread that asks has a loop and a fetch of its own, and
 * nothing is shared between two of them.
 *
 * A call goes where [origins] says, over TLS that is verified with the system's authorities (SSL_CERT_FILE
 * and SSL_CERT_DIR included) or `ca_file`; HTTP/2 where the platform offers it; through the proxy that the
 * environment names (HTTPS_PROXY, ALL_PROXY, NO_PROXY), but never to an address of this machine. Redirects
 * are not followed: they are answers like others, so nothing that a platform sends chooses where a token
 * goes.
 *
 * What is sent and what comes is never logged; our copies of it are overwritten when the call is over. */
#ifndef VT_NET_HTTP_CLIENT_H
#define VT_NET_HTTP_CLIENT_H

#include "base/error.h"
#include "net/http_message.h"

#include <stdint.h>
#include <uv.h>

struct http_client;
struct http_call;

enum transport_error {
    TRANSPORT_OK,        /* an answer came, whole; its status may be anything */
    TRANSPORT_DNS,       /* the name was not found */
    TRANSPORT_CONNECT,   /* nobody takes the connection, the proxy included */
    TRANSPORT_TLS,       /* no handshake, or a certificate that is not accepted */
    TRANSPORT_TIMEOUT,   /* of connecting, of the whole call, or too few bytes for too long */
    TRANSPORT_RESET,     /* the connection ended before the answer did */
    TRANSPORT_TOO_LARGE, /* body or headers above their limit */
    TRANSPORT_PROTOCOL,  /* not HTTP as we know it, or a body that does not unpack */
    TRANSPORT_REQUEST,   /* ours cannot be sent: a line break in a header, http where only https may be */
};
enum { TRANSPORT_ERRORS = 9 };

/* "ok", "dns", "connect" …: metrics, logs, tables. Static. */
const char *transport_error_name(enum transport_error e);

enum {
    HTTP_CLIENT_HEADER_BYTES = 64 * 1024,
    HTTP_CLIENT_HEADERS_MAX = 200,
    HTTP_CLIENT_BODY_BYTES = 2 * 1024 * 1024
};

/* Texts are the caller's and live as long as the fetch. */
struct http_client_options {
    const char *ca_file;     /* NULL or "": the system's certificate authorities */
    const char *unix_socket; /* path; connect to it, whatever the origin says. NULL: TCP */
    bool allow_http;         /* http:// origins too, without a proxy: for a server on this machine */
    int64_t connect_timeout_ms, timeout_ms;
    size_t body_max;       /* decompressed */
    long host_connections; /* at once, to one host; further calls wait, in their time */
};

/* Checks at start that libcurl was built with all that we need. ERR_INVALID: it was not. Thread-safe. */
MUST_USE enum err http_client_check(struct error *error);

/* NULL: out of memory. */
struct http_client *http_client_new(uv_loop_t *loop, const struct http_client_options *options);

struct http_result {
    enum transport_error error;
    struct http_response response; /* of TRANSPORT_OK */
    const char *why; /* of others: a sentence for the log, without path, headers or body of the call */
    int64_t took_ms;
};

/* Starts a call; the request is copied. One that goes by a connection that was kept, and that the platform
 * closes without a byte of an answer, is sent a second time, unless it says `once`: then it gets one of its
 * own. The time limits begin now, a wait for a connection counts. `done` is called once, on the loop, never
 * before this has returned, and the result lives as long as that; the call is then over. It may start, cancel
 * others, and close. */
struct http_call *http_client_send(struct http_client *f, const struct http_request *request,
                                   void (*done)(void *ctx, const struct http_result *result), void *ctx);

/* Ends a call whose `done` has not been called, and now never will be. Waits for nothing. */
void http_client_cancel(struct http_call *call);

/* How many calls are in flight. */
size_t http_client_call_count(const struct http_client *f);

/* Cancels all calls. `closed` is called on the loop when nothing of it is left there; never from within. */
void http_client_close(struct http_client *f, void (*closed)(void *ctx), void *ctx);

#endif

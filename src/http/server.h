/* The HTTP/1.1 server (RFC 9110, 9112): listeners, connections, deadlines, draining. */
#ifndef VT_HTTP_SERVER_H
#define VT_HTTP_SERVER_H

#include "base/error.h"
#include "http/router.h"

#include <uv.h>

struct http_server;

enum { HTTP_FIELD_LINES_MAX = 100 };

struct http_limits {
    size_t
        head_bytes; /* request line and header fields together: 431 above (target: 414 above target_bytes) */
    size_t target_bytes;
    size_t field_lines;     /* number of header lines: 431 above; at most HTTP_FIELD_LINES_MAX */
    size_t body_bytes;      /* 413 above */
    int max_connections;    /* above, new clients wait in the backlog until an idle connection is evicted
                               (evict.c) or another one closes */
    int header_timeout_ms;  /* from the first byte to the end of the head: 408. Also closes a new connection
                               that sends nothing */
    int body_timeout_ms;    /* for the whole body: 408 */
    int idle_timeout_ms;    /* between requests */
    int write_timeout_ms;   /* without progress while the client reads the response */
    int request_timeout_ms; /* for handling: 503; 0: none */
    int drain_ms;           /* for requests in flight, after http_server_close() */
};

struct http_options {
    struct http_limits limits;
    const char *const *listen; /* "127.0.0.1:8080", "[::1]:8080", "unix:/path"; port 0: any free port */
    size_t listen_count;
    bool reuse_port; /* let several processes listen on the same TCP address (SO_REUSEPORT) */
    const char *const *trusted_proxies; /* addresses or CIDR networks; "unix" */
    size_t trusted_proxy_count;
    const char *extra_field; /* one more header field to store, at most 64 bytes; NULL or "": none. Lives as
                                long as the server */
    const struct router *router; /* lives as long as the server */
    /* If it returns true for a client's X-Request-Id, a generated id is used, so that no secret is logged.
     * May be NULL. */
    bool (*holds_secret)(void *ctx, struct str text);
    void *holds_secret_ctx;
    /* Called once for each request that was accepted or rejected, after its response was sent or cut off
     * (`complete` false; r->res.status is 0 if no response was started). Must not change the request. May be
     * NULL. */
    void (*ended)(void *ctx, const struct request *r, bool complete);
    void *ended_ctx;
    const char *key; /* in messages about `listen`; NULL: "[server] listen" */
};

/* Binds, listens and accepts. On failure everything is closed after the next loop iteration. ERR_INVALID: an
 * option; ERR_BUSY: the address is in use; ERR_NOMEM, ERR_IO. */
MUST_USE enum err http_server_open(struct http_server **out, uv_loop_t *loop,
                                   const struct http_options *options, struct error *error);

/* Prints a line `<what> ADDRESS` for each listener on standard output. */
void http_server_print_addresses(const struct http_server *s, const char *what);

/* Drains the server: stops listening, unlinks Unix sockets, closes idle connections, lets requests in flight
 * complete with `Connection: close`, and closes the rest after drain_ms. Then frees the server and calls
 * `closed` on the loop. A second call closes everything at once. */
void http_server_close(struct http_server *s, void (*closed)(void *ctx), void *ctx);

struct http_server_counts {
    int connections, requests_in_flight;
    int waiting; /* listeners with a connection that waits because max_connections is reached */
    unsigned long long accepted, requests, rejected;
    unsigned long long rejected_no_memory; /* aborted because out of memory; also counted in `rejected` */
    /* Connections evicted for a waiting client: before their first byte, or between requests. */
    unsigned long long evicted_unused, evicted_idle;
};
struct http_server_counts http_server_counts(const struct http_server *s);

#endif

/* The HTTP server: listeners, connections, deadlines, drain. Knows HTTP/1.1 (RFC 9110, 9112) and nothing of
 * what is served. */
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
    size_t field_lines;     /* header lines: 431 above; at most HTTP_FIELD_LINES_MAX */
    size_t body_bytes;      /* 413 above */
    int max_connections;    /* accepted at once; above, a new client waits in the backlog until an idle
                               connection has been closed for it (evict.c) or another one has ended */
    int header_timeout_ms;  /* first byte to end of head: 408. A connection that never sends a byte has this
                               long too, then is closed */
    int body_timeout_ms;    /* whole body: 408 */
    int idle_timeout_ms;    /* between requests */
    int write_timeout_ms;   /* without the client taking a byte of the answer */
    int request_timeout_ms; /* a handler that waits longer: 503; 0: none */
    int drain_ms;           /* http_server_close: how long requests in flight may take */
};

struct http_options {
    struct http_limits limits;
    const char *const *listen; /* "127.0.0.1:8080", "[::1]:8080", "unix:/path"; port 0 takes a free one */
    size_t listen_count;
    bool reuse_port; /* TCP: other processes may listen on the same address (SO_REUSEPORT) */
    const char *const *trusted_proxies; /* addresses or CIDR networks; "unix" */
    size_t trusted_proxy_count;
    const char *extra_field; /* one more header field to keep, at most 64 bytes; NULL or "": none. Lives as
                                long as the server */
    const struct router *router; /* lives as long as the server */
    /* An X-Request-Id of a client goes into logs: one that holds a secret is not taken. May be NULL. */
    bool (*holds_secret)(void *ctx, struct str text);
    void *holds_secret_ctx;
    /* Called once for each request that got an answer or was on the way to one, when that is out or broken
     * off (`complete` false; r->res.status 0: before there was any). Looks only. May be NULL. */
    void (*ended)(void *ctx, const struct request *r, bool complete);
    void *ended_ctx;
    const char *key; /* in messages about `listen`; NULL: "[server] listen" */
};

/* Binds, listens and accepts. On failure `*why` is a sentence and nothing stays open once the loop has
 * turned; ERR_BUSY: another process has the address; ERR_NOMEM. */
MUST_USE enum err http_server_open(struct http_server **out, uv_loop_t *loop,
                                   const struct http_options *options, const char **why);

/* Prints one line `<what> ADDRESS` for each listener to standard output. */
void http_server_print_addresses(const struct http_server *s, const char *what);

/* Drain: stops listening (and unlinks Unix sockets), closes idle connections, lets requests in flight finish
 * with `Connection: close`, forces the rest after drain_ms, then calls `closed` once on the loop and frees
 * the server. A second call forces at once. */
void http_server_close(struct http_server *s, void (*closed)(void *ctx), void *ctx);

struct http_server_counts {
    int connections, requests_in_flight;
    int waiting; /* listeners on which a connection waits for the cap */
    unsigned long long accepted, requests, rejected;
    unsigned long long refused_no_memory; /* given up with a 503 or a closed connection; also in `rejected` */
    /* Connections closed to make room for a client that waited: before their first byte, or between requests.
     */
    unsigned long long evicted_unused, evicted_idle;
};
struct http_server_counts http_server_counts(const struct http_server *s);

#endif

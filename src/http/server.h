/* The HTTP/1.1 server (RFC 9110, 9112): listeners, connections, deadlines, draining. */
#ifndef VT_HTTP_SERVER_H
#define VT_HTTP_SERVER_H

#include "base/error.h"
#include "http/router.h"

#include <uv.h>

struct http_server;

enum { HTTP_FIELD_LINES_MAX = 100 };

struct http_limits {
    size_t head_bytes;     /* request line and header fields together; if exceeded: 431 */
    size_t target_bytes;   /* request target; if exceeded: 414 */
    size_t field_lines;    /* number of header lines, at most HTTP_FIELD_LINES_MAX; if exceeded: 431 */
    size_t body_bytes;     /* request body; if exceeded: 413 */
    int max_connections;   /* if reached, new clients wait in the backlog until a connection closes or an idle
                              connection is evicted (evict.c) */
    int header_timeout_ms; /* time from the first byte to the end of the head; if exceeded: 408. Also the time
                              after which a new connection that sends nothing is closed */
    int body_timeout_ms;   /* time for the whole body; if exceeded: 408 */
    int idle_timeout_ms;   /* maximum time that a connection may be idle between requests */
    int write_timeout_ms;  /* maximum time in which the client reads nothing of the response; if exceeded, the
                              connection is closed */
    int request_timeout_ms; /* time for handling the request; if exceeded: 503. 0 means no limit */
    int drain_ms;           /* time for completing the requests in flight after http_server_drain() or
                               http_server_close() */
};

struct http_options {
    struct http_limits limits;
    const char *const *listen; /* "127.0.0.1:8080", "[::1]:8080", "unix:/path"; port 0 selects a free port */
    size_t listen_count;
    const int *passed; /* listening sockets from the service manager, used in addition to `listen` */
    size_t passed_count;
    mode_t socket_mode; /* permissions of the Unix sockets in `listen`; 0 means 0660 */
    gid_t socket_group; /* group of the Unix sockets in `listen`, if `has_socket_group` is true */
    bool has_socket_group;
    bool reuse_port; /* let several processes listen on the same TCP address (SO_REUSEPORT) */
    const char *const *trusted_proxies; /* addresses, CIDR networks, or "unix" */
    size_t trusted_proxy_count;
    const char *extra_field; /* name of one more header field to store, at most 64 bytes; may be NULL or "".
                                Must outlive the server */
    bool timing; /* send Server-Timing to clients on this machine that ask for it (server_timing.h) */
    const struct router *router; /* must outlive the server */
    /* Returns true if a client's X-Request-Id contains a secret. The server then generates an id instead, so
     * that the secret is not logged. May be NULL. */
    bool (*holds_secret)(void *ctx, struct str text);
    void *holds_secret_ctx;
    /* Called once for each request that was complete or was rejected, when it ends. Not called if memory runs
     * out before the request is complete. `response_complete` is false if the response was not sent
     * completely; r->res.status is 0 if no response was started. Must not change the request. May be NULL. */
    void (*ended)(void *ctx, const struct request *r, bool response_complete);
    void *ended_ctx;
    const char *key; /* configuration key of `listen`, for error messages; NULL means "[server] listen" */
};

/* Starts the server: binds to the addresses, listens and accepts. Returns ERR_INVALID if an option is
 * invalid, ERR_BUSY if an address is in use, ERR_NOMEM or ERR_IO. After a failure, run the loop for one more
 * iteration, in which all handles are closed. */
MUST_USE enum err http_server_open(struct http_server **out, uv_loop_t *loop,
                                   const struct http_options *options, struct error *error);

/* Changes http_options.timing while the server runs. */
void http_server_set_timing(struct http_server *s, bool timing);

/* Prints a line "LABEL ADDRESS" for each listener on standard output; LABEL is the text `label`. */
void http_server_print_addresses(const struct http_server *s, const char *label);

/* Stops the server gradually, so that no request fails. At first, the server still accepts connections and
 * keeps idle connections open, but each response contains `Connection: close`. Connections on which the
 * client sends nothing within 2 s of connecting are closed. When all connections that were open at the time
 * of the call have closed, or after 3/4 of drain_ms, continues like http_server_close(). */
void http_server_drain(struct http_server *s, void (*closed)(void *ctx), void *ctx);

/* Stops the server soon: stops listening, unlinks Unix sockets, closes idle connections, and lets requests in
 * flight complete with `Connection: close`. When drain_ms have passed since the first call, closes the
 * connections that are still open. When all connections have closed, frees the server and calls `closed` on
 * the loop. A second call of http_server_drain() or http_server_close() closes all connections immediately;
 * its argument `closed` is ignored. */
void http_server_close(struct http_server *s, void (*closed)(void *ctx), void *ctx);

struct http_server_counts {
    int connections, requests_in_flight;
    int waiting; /* number of listeners with a client that waits because max_connections is reached or memory
                    ran out */
    unsigned long long accepted, requests, rejected;
    unsigned long long rejected_no_memory; /* requests aborted because memory ran out; also in `rejected` */
    /* Connections that were closed in favor of a waiting client: before their first byte, or between two
     * requests. */
    unsigned long long evicted_unused, evicted_idle;
};

/* Returns the current numbers, and the totals since the start. */
struct http_server_counts http_server_get_counts(const struct http_server *s);

#endif

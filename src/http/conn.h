/* Connections. Not for handlers: what server.c, conn.c and request.c share. */
#ifndef VT_HTTP_CONN_H
#define VT_HTTP_CONN_H

#include "base/list.h"
#include "http/head.h"
#include "http/parse.h"
#include "http/proxies.h"

/*
 *   NEW
 *    | bytes of a request                   head complete            complete
 *   IDLE ------------------------> HEAD ---------------------> BODY ----------> HANDLING
 *    ^                              \___________________________________________/  |  ^
 *    |                                                complete                     |  |  (a flush was taken)
 *    |   answer written, kept alive                                                v  |
 *    +---------------------------------------------------------------------------- WRITING
 *                                                                                  |
 *   any state --conn_close()--> CLOSING        refusal written, input left --> LINGERING --conn_close()-->
 * CLOSING
 *
 * conn_enter() is the only assignment of `state`; each state but CLOSING has one deadline, and the
 * connections of a state stand in one list by deadline, so that one tick finds the late ones at the front.
 */
enum conn_state {
    CONN_NEW,
    CONN_IDLE,
    CONN_HEAD,
    CONN_BODY,
    CONN_HANDLING,
    CONN_WRITING,
    CONN_LINGERING,
    CONN_CLOSING
};
enum { CONN_STATES = 8 };

struct conn;

/* One request with all that it needs, borrowed from the server's pool from its first byte to the end of its
 * answer. */
struct exchange {
    struct request r; /* first: a request is its exchange */
    unsigned magic;
    struct conn *conn;
    struct parser *parser;
    struct buf head;  /* of the response; chunk framing */
    struct list link; /* in the pool, or in the server's yielded or sleeping list */
    int64_t wake_ms;  /* while sleeping */
    bool active;      /* begun and not yet over: cancel has something to do */
    bool running;     /* a step is on the stack */
    bool keeps_alive;
    const char *aborted; /* why the answer is broken off; NULL: it is not */
    uv_write_t write;
};

struct conn {
    unsigned magic;
    struct http_server *server;
    struct list link; /* in the list of its state */
    enum conn_state state;
    int64_t deadline_ms;
    struct exchange *x; /* NULL: idle */
    struct list hungry; /* in the server's list while requests of it wait for the next turn */
    struct str in;      /* bytes that were read and not yet parsed */
    char *kept;         /* where `in` is; NULL: in the server's read buffer, while on_read() runs */
    size_t queue_seen;  /* bytes in libuv's write queue when the write deadline was set */
    size_t lingered;
    bool reading, peer_ended, pumping, is_unix;
    const char *close_reason;
    char peer[48]; /* numeric address, or "unix" */
    uv_shutdown_t shutdown;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
};

struct listener {
    struct http_server *server;
    struct listener *next;
    char *unix_path; /* NULL: TCP */
    char name[128];  /* as printed: 127.0.0.1:8080, [::1]:8080, unix:/path */
    bool waiting;    /* a connection is there and not yet accepted: the cap is reached */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
};

enum { READ_BYTES = 64 << 10 };

struct http_server {
    uv_loop_t *loop;
    struct http_options options; /* its strings are not kept */
    struct proxies proxies;
    struct listener *listeners;
    struct list conns[CONN_STATES]; /* CLOSING too: none is lost */
    struct list pool;               /* exchanges at rest */
    int pooled;
    struct list yielded, sleeping;
    struct list hungry; /* connections with requests left for the next turn */
    uv_timer_t tick;
    uv_check_t check;
    uv_idle_t idle; /* keeps the loop from blocking while anything is yielded */
    int open_handles;
    bool ticking, draining, forced, closing;
    int64_t drain_until_ms;
    void (*closed)(void *ctx);
    void *closed_ctx;
    uint64_t id_salt, id_count;
    struct date_cache date;
    struct http_server_counts counts;
    char read_buffer[READ_BYTES]; /* of whatever connection is being read */
};

/* Takes the listener's waiting connection. False: there is none (any more). */
bool conn_accept(struct http_server *s, struct listener *from);

/* The only way out. `reason` is static; for the log. Harmless twice. */
void conn_close(struct conn *c, const char *reason);

/* The deadline of the connection's state has come. */
void conn_expire(struct conn *c);

/* Serves what has arrived: a bounded number of requests a turn. */
void conn_pump(struct conn *c);

/* The request is complete: sends r->res. */
void conn_respond(struct conn *c);

/* Sends what r->res.body holds as a chunk. */
enum next conn_flush(struct conn *c);

/* The server drains: closes the connection if nothing is under way on it. */
void conn_drain(struct conn *c);

/* ---- request.c ---- */

/* Once for each exchange. */
void request_init(struct exchange *x);

/* Runs steps until the request is complete or has to wait. May close and free nothing of the connection but
 * the request itself. */
void request_run(struct request *r);

/* Gives the request up: cancels its wait, calls on_free. Harmless when it is over. */
void request_cancel(struct request *r);

/* One turn of the yielded requests; the sleeping ones whose time has come. */
void request_run_yielded(struct http_server *s);
void request_wake_due(struct http_server *s, int64_t now_ms);

/* ---- server.c ---- */

struct exchange *server_borrow(struct http_server *s);
void server_give_back(struct http_server *s, struct exchange *x);
/* A connection has come to the listener. */
void server_on_connection(struct listener *l);
/* One of the handles counted in open_handles is gone for good; and a connection. */
void server_handle_closed(struct http_server *s);
void server_conn_closed(struct http_server *s);
/* The loop must turn again soon: something yielded. */
void server_turn_soon(struct http_server *s);

/* ---- listener.c ---- */

/* Binds and listens; puts the listener into s->listeners. On failure nothing stays open. */
MUST_USE enum err listener_open(struct http_server *s, const char *address, const char **why);

/* Stops listening and unlinks a Unix socket. */
void listener_close(struct listener *l);

#endif

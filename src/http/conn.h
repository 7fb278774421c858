/* Connections: the structs and functions that the files of the HTTP server share. Request handlers must not
 * use them. */
#ifndef VT_HTTP_CONN_H
#define VT_HTTP_CONN_H

#include "base/clock.h"
#include "base/list.h"
#include "http/response_head.h"
#include "http/parse.h"
#include "http/proxies.h"

/* The states of a connection and their transitions:
 *
 *   NEW, IDLE       --first byte of a request--------------------> HEAD
 *   HEAD            --head complete, body follows----------------> BODY
 *   HEAD, BODY      --request complete---------------------------> HANDLING
 *   HEAD, BODY      --request rejected---------------------------> WRITING
 *   HANDLING        --response or chunk to send------------------> WRITING
 *   WRITING         --chunk written------------------------------> HANDLING
 *   WRITING         --response written, keep-alive---------------> IDLE
 *   WRITING         --response written, unread input may follow--> LINGERING
 *   NEW to WRITING  --out of memory, static 503 sent-------------> LINGERING
 *   any state       --conn_close()-------------------------------> CLOSING
 *
 * Only conn_enter() assigns `state`. Each state except CLOSING has one deadline, HANDLING only if
 * request_timeout_ms is set. The connections of a state are in one list ordered by deadline, so that a tick
 * finds the expired ones at the front. */
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

/* A request, its response, and their resources. A connection acquires an exchange from the server's pool at
 * the first byte of a request, and releases it after the response. */
struct exchange {
    struct request r;
    unsigned magic;
    struct conn *conn;
    struct parser *parser;
    struct buf head;      /* head of the response, or framing of a chunk */
    struct list link;     /* link in http_server.pool or http_server.sleeping */
    int64_t wake_ms;      /* when request_sleep() ends; monotonic */
    bool must_report_end; /* http_options.ended must be called when the exchange ends */
    bool head_built;      /* the head of the response has been formatted into `head` */
    bool active;          /* the first step has begun, and the request has not ended */
    bool running;         /* a step is being executed */
    bool ready;           /* the next step can run; it runs in conn_run() */
    bool keeps_alive;     /* the connection stays open after the response */
    bool client_closes;   /* the client has announced that this is its last request */
    const char *aborted;  /* reason of request_abort(); NULL if not aborted */
    uv_write_t write;
};

struct conn {
    unsigned magic;
    struct http_server *server;
    struct list link;      /* link in the server's list of the connections in the same state */
    struct list scheduled; /* link in http_server.scheduled */
    enum conn_state state;
    int64_t entered_ms, deadline_ms; /* when the current state was entered, and its deadline; monotonic */
    struct exchange *x;              /* NULL if there is no request */
    struct str in;     /* bytes read but not yet parsed; while there are any, the socket is not read */
    char *saved_input; /* memory that contains `in`; NULL during on_read(), while `in` points into the
                          server's read buffer */
    size_t queue_seen; /* number of bytes in libuv's write queue when the write deadline was set */
    size_t lingered;   /* bytes discarded while LINGERING */
    bool reading, is_unix;
    bool peer_ended;              /* end of file was read */
    bool is_trusted;              /* the peer is a trusted proxy */
    bool accepted_while_draining; /* not counted in http_server.old_connections */
    char peer[48]; /* numeric address, "unix", or "unknown" if the client has disconnected before */
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
    bool is_unix;
    /* The file of the Unix socket, if this process has created it; 0: it has not. */
    dev_t device;
    ino_t inode;
    char name[128]; /* 127.0.0.1:8080, [::1]:8080, unix:/path */
    bool waiting; /* a client's connection waits to be accepted, because max_connections is reached or memory
                     ran out */
    bool is_passed; /* the service manager also holds the socket, so connections may stay in its backlog when
                       this process ends: the next process accepts them */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
};

enum { READ_BYTES = 16 << 10 };

struct http_server {
    uv_loop_t *loop;
    struct http_options options; /* a copy of the options, in which `listen`, `passed` and `trusted_proxies`
                                    are NULL */
    struct proxies proxies;
    struct listener *listeners;
    struct list conns[CONN_STATES]; /* all connections, by state */
    struct list pool;               /* unused exchanges */
    int pooled;                     /* number of exchanges in `pool` */
    size_t pooled_large_bytes;      /* total capacity of the body buffers in `pool` that are larger than
                                       BODY_RETAINED */
    struct arena_reserve reserve;   /* memory for the arena of a request when malloc() fails */
    struct list scheduled;          /* connections to run in the next loop iteration */
    struct list sleeping;           /* exchanges in request_sleep() */
    uv_timer_t tick;
    uv_check_t check; /* runs the scheduled connections */
    uv_idle_t idle;   /* active while the loop must not block, for example while a connection is scheduled */
    int open_handles;
    bool ticking, draining, forced, closing;
    bool tick_failed;      /* the tick's timer could not be started; on_check() tries again */
    int64_t tick_ms;       /* time of the next tick, if `ticking`; monotonic */
    int64_t work_us;       /* clock_work_us() at the start of the current time slice */
    bool still_serves;     /* draining, but still accepts connections (http_server_drain()) */
    bool drains_gradually; /* http_server_drain() was called */
    int old_connections; /* while `still_serves` is true: number of open connections that were accepted before
                            http_server_drain() was called */
    /* The next three members are monotonic times that only drain.c uses, while `draining` is true. */
    int64_t drain_until_ms;  /* when the connections that are still open are closed */
    int64_t leave_at_ms;     /* when SERVING ends at the latest; not used while `still_serves` is false */
    int64_t listen_until_ms; /* when LEAVING closes the listeners, even those with a backlog */
    int64_t warn_again_ms;   /* before this monotonic time, server_warn() logs nothing */
    void (*closed)(void *ctx);
    void *closed_ctx;
    uint64_t id_salt, id_count;
    struct date_cache date;
    struct http_server_counts counts;
    char read_buffer[READ_BYTES]; /* shared by all connections; in use during on_read() */
};

/* Returns the monotonic time in ms. Uses the time that libuv read at the start of the loop iteration, which
 * is precise enough for deadlines. With test seams, reads the clock each time, because a test may set the
 * clock at any time. */
static inline int64_t server_now_ms(const struct http_server *s)
{
#ifdef VT_TEST_SEAMS
    (void)s;
    return clock_mono_ms();
#else
    return (int64_t)uv_now(s->loop);
#endif
}

/* ---- conn.c ---- */

/* Accepts the listener's waiting connection. Returns ERR_NOMEM if out of memory; the connection still waits
 * to be accepted in this case. Returns ERR_IO if the connection was lost. */
MUST_USE enum err conn_accept(struct http_server *s, struct listener *from);

/* Changes the state and sets the deadline of the new state. CHECKs that the state diagram allows the
 * transition. */
void conn_enter(struct conn *c, enum conn_state state);

/* Closes the connection. No other code closes it. `reason` is a static text for the log. Does nothing if the
 * connection is already closing. */
void conn_close(struct conn *c, const char *reason);

/* Closes the connection, or rejects its request, because the deadline of its state has expired. */
void conn_time_out(struct conn *c);

/* Schedules the connection: the next loop iteration calls conn_run() for it. */
void conn_schedule(struct conn *c);

/* Continues the work of a scheduled connection. */
void conn_run(struct conn *c);

/* Parses and handles the buffered input. Stops after about one time slice (SLICE_US) and schedules the
 * rest. */
void conn_process_input(struct conn *c);

/* Starts or stops reading from the socket. Does nothing after end of file. */
void conn_set_reading(struct conn *c, bool on);

/* Frees the input that has not been parsed. */
void conn_discard_input(struct conn *c);

/* Aborts the current request, if any, because the server is out of memory, and closes the connection. Sends a
 * static 503 response first, unless part of a response was already sent. */
void conn_reject_no_memory(struct conn *c);

/* Sends an error response and closes the connection. Precondition: no step of the request is running, and no
 * part of a response was sent. */
void conn_reject(struct conn *c, int status, const char *message);

/* Returns true if the socket's receive buffer is not empty. */
bool conn_has_unread_input(const struct conn *c);

/* Called while the server drains. Closes the connection if no request has begun on it and it has no unread
 * input. */
void conn_drain(struct conn *c);

/* Calls http_options.ended for the current exchange, unless it was called before. `response_complete` is
 * false if the response was not sent completely. */
void conn_report_end(struct conn *c, bool response_complete);

/* ---- send.c ---- */

/* Sends the response r->res of a request whose last step has returned. */
void conn_respond(struct conn *c);

/* Sends the content of r->res.body as a chunk. Implements request_flush(). */
enum next conn_flush(struct conn *c);

/* Sends `100 Continue`. */
void conn_send_continue(struct conn *c);

/* ---- request.c ---- */

/* Initializes `magic` and `link` of a new exchange. Call once for each exchange, which may serve many
 * requests. */
void request_init(struct exchange *x);

/* Returns true if the request ran out of memory. Call after each step; if true, abort the request. */
bool request_lacks_memory(const struct exchange *x);

/* Runs steps until the request is complete, waits, or has used up its time slice. */
void request_run(struct request *r);

/* Cancels the wait of the request, then calls r->on_free. Does nothing if the request has ended. */
void request_cancel(struct request *r);

/* Measure how long the request waits. request_begin_wait() starts the measurement. request_end_wait() adds
 * the duration to `*total_us`, which is a member of r->times, or does nothing if the request is not
 * waiting. */
void request_begin_wait(struct request *r, int64_t *total_us);
void request_end_wait(struct request *r, int64_t now_us);

/* Wakes the sleeping requests whose deadline has expired. Returns the next deadline, or INT64_MAX if no
 * request sleeps. */
int64_t request_wake_expired(struct http_server *s, int64_t now_ms);

/* ---- server.c ---- */

/* Returns an exchange from the pool, or a new one. It has the memory that every request needs: the parser,
 * the first block of the arena, and the buffer for the head. Returns NULL if out of memory. */
MUST_USE struct exchange *server_acquire_exchange(struct http_server *s);

/* Puts an exchange back into the pool, or frees it if the pool is full. */
void server_release_exchange(struct http_server *s, struct exchange *x);

/* Accepts the client that has connected to the listener. If max_connections is reached, the client waits
 * instead. */
void server_on_connection(struct listener *l);

/* Call server_handle_closed() in the close callback of each handle that is counted in open_handles, and
 * server_conn_closed() in the close callback of each connection. `is_old` is true if the connection was
 * accepted before the server began to drain. If the server has ended and the last handle has closed, these
 * functions free the server. */
void server_handle_closed(struct http_server *s);
void server_conn_closed(struct http_server *s, bool is_old);

/* Logs the warning `what: reason`. Logs at most one warning per second and drops further ones, because many
 * connections may have the same problem at the same time. */
void server_warn(struct http_server *s, const char *what, const char *reason);

/* Makes the loop run another iteration without blocking. */
void server_iterate_soon(struct http_server *s);

/* Ensures that the tick runs at `deadline_ms` (monotonic) or earlier. The timer may fire a little late. */
void server_schedule_tick(struct http_server *s, int64_t deadline_ms);

/* Closes all connections immediately. `reason` is a static text for the log. */
void server_close_all(struct http_server *s, const char *reason);

/* Ends the server if it drains and has no connections and no listeners any more: closes the server's own
 * handles, and frees the server when they have closed. */
void server_end_if_drained(struct http_server *s);

/* ---- drain.c ---- */

/* Continues to drain the server; does nothing if the server does not drain. Call in each loop iteration.
 * Returns true if the next iteration must not wait for events. */
bool server_drain_continue(struct http_server *s);

/* Handles the deadlines of draining. Returns the next one, or INT64_MAX if no deadline is left. */
int64_t server_drain_tick(struct http_server *s, int64_t now_ms);

/* ---- evict.c ---- */

/* Closes one connection for each listener with a client that waits to be accepted; counts connections that
 * are already closing. First closes connections on which nothing was received since they were opened at least
 * 2 s ago. If there are none, closes the connection that has been idle longest, but only if it has been idle
 * for at least 1 s. Returns the time at which the function must be called again (monotonic ms), or INT64_MAX
 * if enough connections are closing. */
int64_t server_evict(struct http_server *s, int64_t now_ms);

/* ---- listener.c ---- */

/* Binds to `address`, listens, and adds the listener to s->listeners. */
MUST_USE enum err listener_open(struct http_server *s, const char *address, struct error *error);

/* Adds the socket `fd`, which listens already, to s->listeners. On success, the listener owns the socket. On
 * failure, the socket may be open or closed, so the caller must not use it any more. */
MUST_USE enum err listener_adopt(struct http_server *s, int fd, struct error *error);

/* Stops listening, and unlinks the path of a Unix socket that listener_open() has created. */
void listener_close(struct listener *l);

/* Returns true if a connection waits in the kernel's backlog. */
bool listener_has_backlog(const struct listener *l);

#endif

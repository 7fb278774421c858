/* Connections. Not for handlers: what server.c, listener.c, conn.c, send.c and request.c share. */
#ifndef VT_HTTP_CONN_H
#define VT_HTTP_CONN_H

#include "base/clock.h"
#include "base/list.h"
#include "http/response_head.h"
#include "http/parse.h"
#include "http/proxies.h"

/*
 *   NEW
 *    | first byte of a request         body comes            complete
 *   IDLE ------------------------> HEAD ----------> BODY -----------------> HANDLING
 *    ^                              |                 |                      |    ^
 *    |                              +--complete, or to be refused---------+  |    | (a part was taken)
 *    |   answer written, kept alive                                       v  v    |
 *    +------------------------------------------------------------------ WRITING -+
 *                                                                            |
 *                          answer written, input may be left: LINGERING <----+
 *   any state --conn_close()--> CLOSING
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
    struct buf head;     /* of the response; chunk framing */
    struct list link;    /* in the pool, or in the server's sleeping list */
    int64_t wake_ms;     /* while sleeping */
    bool counted;        /* the server's `over` is owed */
    bool answering;      /* the head of the answer is made */
    bool active;         /* begun and not yet over: cancel has something to do */
    bool running;        /* a step is on the stack */
    bool ready;          /* the next step runs when it is the connection's turn */
    bool keeps_alive;    /* the connection stays open behind the answer */
    bool client_closes;  /* the client has said that this is its last request */
    const char *aborted; /* why the answer is broken off; NULL: it is not */
    uv_write_t write;
};

struct conn {
    unsigned magic;
    struct http_server *server;
    struct list link; /* in the list of its state */
    struct list turn; /* in the server's list while it has something to do in the next turn of the loop */
    enum conn_state state;
    int64_t entered_ms, deadline_ms; /* of the state, on the monotonic clock */
    struct exchange *x;              /* NULL: idle */
    struct str in;     /* bytes that were read and not yet parsed; while there are any, nothing is read */
    char *kept;        /* where `in` is; NULL: in the server's read buffer, while on_read() runs */
    size_t queue_seen; /* bytes in libuv's write queue when the write deadline was set */
    size_t lingered;
    bool reading, peer_ended, is_unix;
    bool is_trusted; /* the peer, as a proxy */
    bool resets;     /* closes with a reset: the client must not take what it has for all there is */
    char peer[48];   /* numeric address, or "unix" */
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
    char name[128]; /* as printed: 127.0.0.1:8080, [::1]:8080, unix:/path */
    bool waiting;   /* a connection is there and not yet accepted: the cap is reached */
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
    struct http_options options; /* its strings are not kept */
    struct proxies proxies;
    struct listener *listeners;
    struct list conns[CONN_STATES]; /* CLOSING too: none is lost */
    struct list pool;               /* exchanges at rest */
    int pooled;
    size_t large_kept;            /* bytes in their large buffers */
    struct arena_reserve reserve; /* for the request that is served when memory runs out */
    struct list turns;            /* connections with something to do in the next turn */
    struct list sleeping;         /* exchanges */
    uv_timer_t tick;
    uv_check_t check;
    uv_idle_t idle; /* keeps the loop from blocking while anybody waits for a turn */
    int open_handles;
    bool ticking, draining, forced, closing;
    bool tick_failed; /* the timer could not be started: on_check() tries again */
    int64_t tick_ms;  /* when it will tick, if ticking */
    int64_t work_us;  /* clock_work_us() when the work on the connection began that is being served */
    int64_t drain_until_ms, listen_until_ms;
    int64_t warn_again_ms;
    void (*closed)(void *ctx);
    void *closed_ctx;
    uint64_t id_salt, id_count;
    struct date_cache date;
    struct http_server_counts counts;
    char read_buffer[READ_BYTES]; /* of whatever connection is being read */
};

/* clock_mono_ms(), but read once a turn: good enough for deadlines. A test moves its clock at any moment. */
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

/* Takes the listener's waiting connection. ERR_NOMEM: not taken, it still waits; ERR_IO: it is lost. */
MUST_USE enum err conn_accept(struct http_server *s, struct listener *from);

/* The only assignment of the state; CHECKs that there is such an edge, and sets the state's deadline. */
void conn_enter(struct conn *c, enum conn_state state);

/* The only way out. `reason` is static; for the log. Harmless twice. */
void conn_close(struct conn *c, const char *reason);

/* The deadline of the connection's state has come. */
void conn_time_out(struct conn *c);

/* Puts it into the list of those that have something to do in the next turn of the loop; conn_run() does it.
 */
void conn_schedule(struct conn *c);
void conn_run(struct conn *c);

/* Serves what has arrived, for about a slice. */
void conn_process_input(struct conn *c);

/* Reads on or not; nothing is read behind the client's end. */
void conn_set_reading(struct conn *c, bool on);
void conn_discard_input(struct conn *c);

/* Gives the current request up for lack of memory: a 503 from static memory if nothing of a response was
 * sent, and the connection closes. Also without a request, if none could be begun. */
void conn_reject_no_memory(struct conn *c);

/* Answers with an error that the server makes itself, and closes. The request is not running, and nothing of
 * an answer was sent. */
void conn_reject(struct conn *c, int status, const char *message);

/* The kernel holds bytes that the client has sent and that were not read yet. */
bool conn_has_unread_input(const struct conn *c);

/* The server drains: closes the connection if nothing is under way on it. */
void conn_drain(struct conn *c);

/* The exchange is over: tells the server's `over`, once. */
void conn_report_end(struct conn *c, bool complete);

/* ---- send.c ---- */

/* The request is complete: sends r->res. */
void conn_respond(struct conn *c);

/* Sends what r->res.body holds as a chunk: request_flush(). */
enum next conn_flush(struct conn *c);

/* `100 Continue`. */
void conn_send_continue(struct conn *c);

/* ---- request.c ---- */

/* Once for each exchange. */
void request_init(struct exchange *x);

/* Test after whatever may have allocated for the request: if true, give it up before anything else runs. */
bool request_lacks_memory(const struct exchange *x);

/* Runs steps until the request is complete, has to wait or has had its slice. */
void request_run(struct request *r);

/* Gives the request up: cancels its wait, calls on_free. Harmless when it is over. */
void request_cancel(struct request *r);

/* Wakes the sleeping requests whose time has come. Returns when the next one's comes; INT64_MAX: never. */
int64_t request_wake_due(struct http_server *s, int64_t now_ms);

/* ---- server.c ---- */

/* An exchange with the memory that any request needs: structures, the arena's first block, the buffers of the
 * head. NULL: no memory. */
MUST_USE struct exchange *server_acquire_exchange(struct http_server *s);
void server_release_exchange(struct http_server *s, struct exchange *x);
/* A connection has come to the listener. */
void server_on_connection(struct listener *l);
/* One of the handles counted in open_handles is gone for good; and a connection. */
void server_handle_closed(struct http_server *s);
void server_conn_closed(struct http_server *s);
/* Logs trouble that many clients may have at the same time: at most one line a second. */
void server_warn(struct http_server *s, const char *what, const char *reason);
/* The loop must turn again at once. */
void server_iterate_soon(struct http_server *s);
/* The tick must come at `deadline_ms` (monotonic), or a little later. */
void server_schedule_tick(struct http_server *s, int64_t deadline_ms);

/* ---- evict.c ---- */

/* While clients wait to be accepted, closes one connection for each of them: first those that have sent
 * nothing for 2 s, then the one that has been idle longest, but none that has been idle for less than 1 s.
 * Returns when to call again (monotonic ms); INT64_MAX if there is room for everybody. */
int64_t server_evict(struct http_server *s, int64_t now_ms);

/* ---- listener.c ---- */

/* Binds and listens; puts the listener into s->listeners. On failure nothing stays open. */
MUST_USE enum err listener_open(struct http_server *s, const char *address, const char **why);

/* Stops listening; libuv unlinks a Unix socket. */
void listener_close(struct listener *l);

/* A connection waits in the kernel's backlog. */
bool listener_has_backlog(const struct listener *l);

#endif

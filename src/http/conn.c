/* A connection: states, reading, deadlines, closing. conn.h has the state diagram; send.c sends responses. */
#include "http/conn.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/number.h"
#include "http/grammar.h"
#include "http/router.h"

#include <stdlib.h>
#include <sys/socket.h>

enum {
    CONN_MAGIC = 0x436F6E6E,
    LINGER_MS = 2000,
    LINGER_BYTES = 1 << 20,
    READING_BODY_RETAINED = 4 << 10, /* maximum capacity of the response buffer until a request is complete */
};
static const int64_t NEVER_MS = INT64_MAX / 2;

/* ---- state of a connection ---- */

static int64_t timeout_of(const struct conn *c, enum conn_state state)
{
    const struct http_limits *l = &c->server->options.limits;
    switch (state) {
    case CONN_IDLE: return l->idle_timeout_ms;
    case CONN_NEW:
    case CONN_HEAD: return l->header_timeout_ms;
    case CONN_BODY: return l->body_timeout_ms;
    case CONN_HANDLING: return l->request_timeout_ms ? l->request_timeout_ms : NEVER_MS;
    case CONN_WRITING: return l->write_timeout_ms;
    case CONN_LINGERING: return LINGER_MS;
    case CONN_CLOSING: break;
    }
    return NEVER_MS;
}

void conn_enter(struct conn *c, enum conn_state state)
{
    static const unsigned char edges[CONN_STATES] = {
        /* The transition from NEW to NEW sets the first deadline. The transitions to LINGERING are also used
         * by conn_reject_no_memory(). */
        [CONN_NEW] = 1 << CONN_NEW | 1 << CONN_HEAD | 1 << CONN_LINGERING,
        [CONN_IDLE] = 1 << CONN_HEAD | 1 << CONN_LINGERING,
        [CONN_HEAD] = 1 << CONN_BODY | 1 << CONN_HANDLING | 1 << CONN_WRITING | 1 << CONN_LINGERING,
        [CONN_BODY] = 1 << CONN_HANDLING | 1 << CONN_WRITING | 1 << CONN_LINGERING,
        [CONN_HANDLING] = 1 << CONN_WRITING | 1 << CONN_LINGERING,
        [CONN_WRITING] = 1 << CONN_IDLE | 1 << CONN_HANDLING | 1 << CONN_WRITING | 1 << CONN_LINGERING,
        [CONN_LINGERING] = 0,
    };
    CHECK(c->magic == CONN_MAGIC && c->state != CONN_CLOSING);
    CHECK(state == CONN_CLOSING || edges[c->state] & 1 << state);
    c->state = state;
    c->entered_ms = server_now_ms(c->server);
    c->deadline_ms = c->entered_ms + timeout_of(c, state);
    list_remove(&c->link);
    list_add_last(&c->server->conns[state], &c->link);
    if (c->deadline_ms < NEVER_MS)
        server_schedule_tick(c->server, c->deadline_ms);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    struct http_server *s = c->server;
    if (c->x)
        server_release_exchange(s, c->x);
    list_remove(&c->link);
    free(c->saved_input);
    const bool is_old = !c->accepted_while_draining;
    c->magic = 0;
    free(c);
    server_conn_closed(s, is_old);
}

void conn_report_end(struct conn *c, bool response_complete)
{
    const struct http_options *o = &c->server->options;
    struct exchange *x = c->x;
    if (x->r.times.wait_began_us)
        request_end_wait(&x->r, clock_work_us());
    if (!x->head_built)
        x->r.res.status = 0; /* the handler may have set a status that was not sent */
    if (x->must_report_end && o->ended)
        o->ended(o->ended_ctx, &x->r, response_complete);
    x->must_report_end = false;
}

/* Returns true if part of a response was sent whose end an HTTP/1.0 client recognizes only by the end of the
 * connection. A TCP reset shows the client that the response is truncated; a Unix socket has no reset. */
static bool must_reset(const struct conn *c)
{
    return c->x && c->x->r.res.streaming && parser_is_http_1_0(c->x->parser) && !c->is_unix;
}

void conn_close(struct conn *c, const char *reason)
{
    if (c->state == CONN_CLOSING)
        return;
    log_debug("%s: connection closed: %s", c->peer, reason);
    if (c->x) {
        request_cancel(&c->x->r);
        conn_report_end(c, false);
    }
    list_remove(&c->scheduled);
    conn_enter(c, CONN_CLOSING);
    if (!must_reset(c) || uv_tcp_close_reset(&c->tcp, on_closed) != 0)
        uv_close(&c->handle, on_closed);
}

/* ---- reading from the socket ---- */

static bool reads_requests(const struct conn *c)
{
    return c->state == CONN_NEW || c->state == CONN_IDLE || c->state == CONN_HEAD || c->state == CONN_BODY;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    const struct conn *c = handle->data;
    (void)suggested;
    *buf = uv_buf_init(c->server->read_buffer, READ_BYTES);
}

void conn_discard_input(struct conn *c)
{
    free(c->saved_input);
    c->saved_input = NULL;
    c->in = (struct str){NULL, 0};
}

/* Copies the rest of the input out of the shared read buffer. If out of memory, drops the input, which may
 * contain pipelined requests, and closes the connection after the current response. */
static void save_input(struct conn *c)
{
    c->saved_input = try_malloc(c->in.len);
    if (c->saved_input) {
        memcpy(c->saved_input, c->in.p, c->in.len);
        c->in.p = c->saved_input;
        return;
    }
    conn_discard_input(c);
    if (c->x)
        c->x->keeps_alive = false;
    else
        conn_reject_no_memory(c);
}

static void on_end(struct conn *c, ssize_t error)
{
    if (error != UV_EOF || c->state == CONN_LINGERING) {
        conn_close(c, error == UV_EOF ? "client disconnected" : uv_strerror((int)error));
        return;
    }
    /* The client may have shut down only its own side, so a pending response is still sent. But most likely
     * the client has disconnected, so a sleeping request is woken, so that it can end soon. */
    c->peer_ended = true;
    c->reading = false;
    (void)uv_read_stop(&c->stream);
    if (reads_requests(c) && c->in.len == 0) {
        conn_close(c, c->x ? "client disconnected within a request" : "client disconnected");
    } else if (c->x) {
        c->x->r.client_ended = true;
        request_wake(&c->x->r);
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = stream->data;
    CHECK(c->magic == CONN_MAGIC);
    if (c->state == CONN_CLOSING || n == 0)
        return;
    if (n < 0) {
        on_end(c, n);
    } else if (c->state == CONN_LINGERING) {
        c->lingered += (size_t)n;
        if (c->lingered > LINGER_BYTES)
            conn_close(c, "response sent, and the client continues to send");
    } else {
        CHECK(c->in.len == 0);
        c->in = str_make(buf->base, (size_t)n);
        conn_process_input(c);
        if (c->in.len && !c->saved_input)
            save_input(c);
    }
}

void conn_set_reading(struct conn *c, bool on)
{
    if (c->peer_ended || on == c->reading)
        return;
    c->reading = on;
    if (!on)
        (void)uv_read_stop(&c->stream);
    else if (FAULT_OR(UV_ENOMEM, uv_read_start(&c->stream, on_alloc, on_read)) != 0)
        conn_close(c, "cannot read");
}

/* ---- from bytes to requests ---- */

/* Acquires an exchange for a new request. If out of memory, calls conn_reject_no_memory() and returns
 * false. */
static bool begin_request(struct conn *c)
{
    struct exchange *x = server_acquire_exchange(c->server);
    if (!x) {
        conn_reject_no_memory(c);
        return false;
    }
    c->x = x;
    x->conn = c;
    x->r.started_ms = server_now_ms(c->server);
    x->r.app = c->server->options.router->fallback;
    x->r.client_ended = c->peer_ended;
    parser_begin(x->parser, &x->r, &c->server->options.limits);
    conn_enter(c, CONN_HEAD);
    return true;
}

/* Sets the request id, the trace ids and the client address. Uses the ids that the client sent if they are
 * well-formed. */
static void identify(struct conn *c)
{
    struct http_server *s = c->server;
    struct request *r = &c->x->r;
    r->peer_is_trusted = c->is_trusted;
    r->client_address = proxies_find_client(&s->proxies, str_from_cstr(c->peer), c->is_trusted,
                                            r->field[FIELD_X_FORWARDED_FOR]);
    /* If the client sent several traceparent fields, they were joined with ", ", and the joined value is
     * invalid. */
    if (!grammar_split_traceparent(r->field[FIELD_TRACEPARENT], &r->trace_id, &r->parent_id))
        r->trace_id = r->parent_id = (struct str){NULL, 0};
    r->id = r->field[FIELD_X_REQUEST_ID];
    if (r->id.p && r->field_count[FIELD_X_REQUEST_ID] == 1 && grammar_is_request_id(r->id) &&
        !(s->options.holds_secret && s->options.holds_secret(s->options.holds_secret_ctx, r->id)))
        return;
    uint64_t count = s->id_count++;
    uint64_t id = hash_64(str_make((const char *)&count, sizeof count), s->id_salt);
    char *text = arena_alloc(&r->arena, HEX_64_LEN);
    hex_64_format(id, text);
    r->id = str_make(text, HEX_64_LEN);
}

void conn_reject(struct conn *c, int status, const char *message)
{
    struct exchange *x = c->x;
    if (!x->r.id.p)
        identify(c);
    if (!x->r.arrived_us)
        x->r.arrived_us = clock_work_us();
    x->must_report_end = true;
    x->aborted = NULL;
    response_reset(&x->r);
    x->r.res.status = status;
    x->r.res.close = true;
    c->server->counts.rejected++;
    router_prepare_rejection(c->server->options.router, &x->r);
    x->r.app->reject(&x->r, message);
    conn_respond(c);
}

static void handle(struct conn *c)
{
    struct exchange *x = c->x;
    c->server->counts.requests++;
    x->keeps_alive = parser_keeps_alive(x->parser);
    x->client_closes = !x->keeps_alive;
    identify(c);
    x->r.arrived_us = c->server->work_us;
    x->must_report_end = true;
    conn_enter(c, CONN_HANDLING);
    router_find_route(c->server->options.router, &x->r);
    request_run(&x->r);
}

static enum parse feed(struct conn *c)
{
    size_t used;
    enum parse result = parser_feed(c->x->parser, c->in, &used);
    c->in = str_make(c->in.p + used, c->in.len - used);
    return result;
}

static void parse(struct conn *c)
{
    if ((c->state == CONN_NEW || c->state == CONN_IDLE) && !begin_request(c))
        return;
    enum parse result = feed(c);
    if (result == PARSE_HEAD && (result = feed(c)) == PARSE_MORE) {
        conn_enter(c, CONN_BODY);
        if (parser_expects_continue(c->x->parser))
            conn_send_continue(c);
    }
    /* The rest of an incomplete request may never arrive, so do not keep a large response buffer for it. */
    if (result == PARSE_MORE)
        buf_reset(&c->x->r.res.body, READING_BODY_RETAINED);
    if (request_lacks_memory(c->x))
        conn_reject_no_memory(c);
    else if (result == PARSE_DONE)
        handle(c);
    else if (result == PARSE_FAILED)
        conn_reject(c, parser_status(c->x->parser), parser_message(c->x->parser));
}

/* This is a loop and not a recursion, because many pipelined requests may complete immediately. */
void conn_process_input(struct conn *c)
{
    struct http_server *s = c->server;
    if (reads_requests(c) && c->in.len)
        s->work_us = clock_work_us();
    const int64_t start_us = s->work_us;
    while (reads_requests(c) && c->in.len) {
        parse(c);
        if (reads_requests(c) && c->in.len && request_time_slice_ended(start_us)) {
            conn_schedule(c);
            break;
        }
    }
    if (c->state == CONN_CLOSING || c->state == CONN_LINGERING)
        return;
    if (c->in.len == 0)
        conn_discard_input(c);
    if (c->in.len == 0 && c->peer_ended && reads_requests(c))
        conn_close(c, "client disconnected");
    else
        conn_set_reading(c, c->in.len == 0);
}

void conn_schedule(struct conn *c)
{
    if (list_is_empty(&c->scheduled)) /* not scheduled yet */
        list_add_last(&c->server->scheduled, &c->scheduled);
    server_iterate_soon(c->server);
}

void conn_run(struct conn *c)
{
    CHECK(c->magic == CONN_MAGIC && c->state != CONN_CLOSING);
    if (c->x && c->x->ready)
        request_run(&c->x->r);
    if (c->state != CONN_CLOSING)
        conn_process_input(c);
}

/* ---- deadlines and drain ---- */

static void expire_handling(struct conn *c)
{
    if (c->x->r.res.streaming) {
        conn_close(c, "request timed out");
        return;
    }
    request_cancel(&c->x->r);
    conn_reject(c, 503, "The request timed out.");
}

/* Closes the connection if the client has read nothing since the deadline was set. Otherwise sets a new
 * deadline, because the client is only slow. */
static void expire_writing(struct conn *c)
{
    size_t left = uv_stream_get_write_queue_size(&c->stream);
    if (left >= c->queue_seen) {
        conn_close(c, "the client does not read");
        return;
    }
    c->queue_seen = left;
    conn_enter(c, CONN_WRITING);
}

static void expire_head(struct conn *c)
{
    if (parser_has_only_empty_lines(c->x->parser))
        conn_close(c, "idle");
    else
        conn_reject(c, 408, "The request head did not arrive in time.");
}

void conn_time_out(struct conn *c)
{
    switch (c->state) {
    case CONN_NEW:
    case CONN_IDLE: conn_close(c, "idle"); break;
    case CONN_HEAD: expire_head(c); break;
    case CONN_BODY: conn_reject(c, 408, "The request body did not arrive in time."); break;
    case CONN_HANDLING: expire_handling(c); break;
    case CONN_WRITING: expire_writing(c); break;
    case CONN_LINGERING: conn_close(c, "response sent"); break;
    case CONN_CLOSING: break;
    }
}

bool conn_has_unread_input(const struct conn *c)
{
    char byte;
    uv_os_fd_t fd;
    return uv_fileno(&c->handle, &fd) == 0 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void conn_drain(struct conn *c)
{
    if ((c->state == CONN_NEW || c->state == CONN_IDLE) && c->in.len == 0 && !conn_has_unread_input(c))
        conn_close(c, "server is stopping");
}

/* ---- opening a connection ---- */

static void name_peer(struct conn *c)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    if (c->is_unix) {
        memcpy(c->peer, "unix", 5);
        return;
    }
    memcpy(c->peer, "unknown", 8);
    if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&address, &len) == 0)
        (void)uv_ip_name((const struct sockaddr *)&address, c->peer, sizeof c->peer);
}

static struct conn *conn_new(struct http_server *s, bool is_unix)
{
    struct conn *c = try_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->magic = CONN_MAGIC;
    c->server = s;
    c->is_unix = is_unix;
    c->accepted_while_draining = s->draining;
    list_init(&c->link);
    list_init(&c->scheduled);
    if (FAULT_OR(UV_ENOMEM, is_unix ? uv_pipe_init(s->loop, &c->pipe, 0) : uv_tcp_init(s->loop, &c->tcp)) !=
        0) {
        free(c);
        return NULL;
    }
    c->handle.data = c;
    return c;
}

enum err conn_accept(struct http_server *s, struct listener *from)
{
    struct conn *c = conn_new(s, from->is_unix);
    if (!c)
        return ERR_NOMEM;
    s->counts.connections++;
    int status = uv_accept(&from->stream, &c->stream);
    if (status == 0 && fault_fires())
        status = UV_ENOMEM;
    conn_enter(c, CONN_NEW);
    if (status != 0) {
        conn_close(c, "cannot accept");
        return ERR_IO;
    }
    s->counts.accepted++;
    if (!c->is_unix)
        (void)uv_tcp_nodelay(&c->tcp, 1);
    name_peer(c);
    c->is_trusted = proxies_is_trusted(&s->proxies, str_from_cstr(c->peer), c->is_unix);
    conn_set_reading(c, true);
    return OK;
}

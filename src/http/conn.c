/* A connection: reading, answering, deadlines, closing. State diagram in conn.h. Knows no route and no
 * listener. */
#include "http/conn.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "http/grammar.h"

#include <stdlib.h>

enum {
    CONN_MAGIC = 0x436F6E6E,
    UNPARSED_MAX = 64 << 10, /* pipelined bytes kept; above, the socket is not read */
    REQUESTS_A_TURN = 32,
    LINGER_MS = 2000,
    LINGER_BYTES = 1 << 20,
};

/* ---- state ---- */

static int64_t timeout_of(const struct conn *c, enum conn_state state)
{
    const struct http_limits *l = &c->server->options.limits;
    switch (state) {
    case CONN_IDLE: return l->idle_timeout_ms;
    case CONN_NEW:
    case CONN_HEAD: return l->header_timeout_ms;
    case CONN_BODY: return l->body_timeout_ms;
    case CONN_HANDLING: return l->request_timeout_ms ? l->request_timeout_ms : INT64_MAX / 2;
    case CONN_WRITING: return l->write_timeout_ms;
    case CONN_LINGERING: return LINGER_MS;
    case CONN_CLOSING: break;
    }
    return INT64_MAX / 2;
}

static void conn_enter(struct conn *c, enum conn_state state)
{
    static const unsigned char edges[CONN_STATES] = {
        [CONN_NEW] = 1 << CONN_NEW | 1 << CONN_HEAD, /* zeroed is NEW: entered once when it is opened */
        [CONN_IDLE] = 1 << CONN_HEAD,
        [CONN_HEAD] = 1 << CONN_BODY | 1 << CONN_HANDLING | 1 << CONN_WRITING,
        [CONN_BODY] = 1 << CONN_HANDLING | 1 << CONN_WRITING,
        [CONN_HANDLING] = 1 << CONN_WRITING,
        [CONN_WRITING] = 1 << CONN_IDLE | 1 << CONN_HANDLING | 1 << CONN_WRITING | 1 << CONN_LINGERING,
        [CONN_LINGERING] = 0,
    };
    CHECK(c->magic == CONN_MAGIC && c->state != CONN_CLOSING);
    CHECK(state == CONN_CLOSING || edges[c->state] & 1 << state);
    c->state = state;
    c->deadline_ms = clock_mono_ms() + timeout_of(c, state);
    list_remove(&c->link);
    list_add_last(&c->server->conns[state], &c->link);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    struct http_server *s = c->server;
    if (c->x)
        server_give_back(s, c->x);
    list_remove(&c->link);
    list_remove(&c->hungry);
    free(c->kept);
    c->magic = 0;
    free(c);
    server_conn_closed(s);
}

void conn_close(struct conn *c, const char *reason)
{
    if (c->state == CONN_CLOSING)
        return;
    log_debug("%s: connection closed: %s", c->peer, reason);
    c->close_reason = reason;
    if (c->x)
        request_cancel(&c->x->r);
    conn_enter(c, CONN_CLOSING);
    uv_close(&c->handle, on_closed);
}

/* ---- reading ---- */

static bool is_reading(const struct conn *c)
{
    return c->state == CONN_NEW || c->state == CONN_IDLE || c->state == CONN_HEAD || c->state == CONN_BODY;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    const struct conn *c = handle->data;
    (void)suggested;
    *buf = uv_buf_init(c->server->read_buffer, READ_BYTES);
}

static void drop_input(struct conn *c)
{
    free(c->kept);
    c->kept = NULL;
    c->in = (struct str){NULL, 0};
}

/* Copies the unparsed bytes and those behind them out of the shared read buffer. */
static void keep_input(struct conn *c, struct str more)
{
    char *kept = xmalloc(c->in.len + more.len);
    memcpy(kept, c->in.p, c->in.len);
    if (more.len)
        memcpy(kept + c->in.len, more.p, more.len);
    size_t len = c->in.len + more.len;
    drop_input(c);
    c->kept = kept;
    c->in = str_make(kept, len);
}

static void on_end(struct conn *c, ssize_t error)
{
    if (error != UV_EOF || c->state == CONN_LINGERING) {
        conn_close(c, error == UV_EOF ? "ended by the client" : uv_strerror((int)error));
        return;
    }
    /* The client may have shut only its own side: an answer that is owed is still sent. */
    c->peer_ended = true;
    c->reading = false;
    (void)uv_read_stop(&c->stream);
    if (is_reading(c) && c->in.len == 0)
        conn_close(c, c->x ? "ended within a request" : "ended by the client");
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = stream->data;
    CHECK(c->magic == CONN_MAGIC);
    if (c->state == CONN_CLOSING || n == 0)
        return;
    if (n < 0) {
        on_end(c, n);
        return;
    }
    struct str bytes = str_make(buf->base, (size_t)n);
    if (c->state == CONN_LINGERING) {
        c->lingered += bytes.len;
        if (c->lingered > LINGER_BYTES)
            conn_close(c, "refused");
        return;
    }
    if (c->in.len)
        keep_input(c, bytes);
    else
        c->in = bytes;
    conn_pump(c);
    if (c->in.len && !c->kept)
        keep_input(c, STR(""));
}

static void set_reading(struct conn *c, bool on)
{
    if (c->peer_ended || on == c->reading)
        return;
    c->reading = on;
    if (!on)
        (void)uv_read_stop(&c->stream);
    else if (uv_read_start(&c->stream, on_alloc, on_read) != 0)
        conn_close(c, "cannot be read");
}

/* ---- from bytes to requests ---- */

static void begin_request(struct conn *c)
{
    struct exchange *x = server_borrow(c->server);
    c->x = x;
    x->conn = c;
    x->r.started_ms = clock_mono_ms();
    x->r.app = c->server->options.app.ctx;
    parser_begin(x->parser, &x->r, &c->server->options.limits);
    conn_enter(c, CONN_HEAD);
}

/* The client's own id when it is well formed, else one of ours. Client address as far as proxies are trusted.
 */
static void identify(struct conn *c)
{
    struct http_server *s = c->server;
    struct request *r = &c->x->r;
    r->client_address =
        proxies_client(&s->proxies, str_from_cstr(c->peer), c->is_unix, r->field[FIELD_X_FORWARDED_FOR]);
    r->id = r->field[FIELD_X_REQUEST_ID];
    if (r->id.p && r->field_count[FIELD_X_REQUEST_ID] == 1 && grammar_is_request_id(r->id))
        return;
    uint64_t count = s->id_count++;
    uint64_t id = hash_64(str_make((const char *)&count, sizeof count), s->id_salt);
    r->id = arena_printf(&r->arena, "%016llx", (unsigned long long)id);
}

static void refuse(struct conn *c, int status, const char *message)
{
    struct exchange *x = c->x;
    identify(c);
    x->keeps_alive = false;
    response_reset(&x->r);
    x->r.res.status = status;
    x->r.res.close = true;
    c->server->counts.refused++;
    if (c->server->options.refuse)
        c->server->options.refuse(&x->r, message);
    conn_respond(c);
}

static const char CONTINUE[] = "HTTP/1.1 100 Continue\r\n\r\n";

/* The interim answer fits into any socket's buffer; a socket that does not take it is stuck and runs into the
 * body deadline. */
static void send_continue(struct conn *c)
{
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)CONTINUE, sizeof CONTINUE - 1);
    if (parser_takes_continue(c->x->parser))
        (void)uv_try_write(&c->stream, &buf, 1);
}

static void handle(struct conn *c)
{
    struct exchange *x = c->x;
    c->server->counts.requests++;
    x->keeps_alive = parser_keeps_alive(x->parser);
    identify(c);
    conn_enter(c, CONN_HANDLING);
    x->r.step = c->server->options.app.first;
    request_run(&x->r);
}

static void parse(struct conn *c)
{
    size_t used;
    if (c->state == CONN_NEW || c->state == CONN_IDLE)
        begin_request(c);
    enum parse result = parser_feed(c->x->parser, c->in, &used);
    c->in = str_make(c->in.p + used, c->in.len - used);
    switch (result) {
    case PARSE_MORE:
        if (c->state == CONN_HEAD && parser_is_in_body(c->x->parser)) {
            conn_enter(c, CONN_BODY);
            send_continue(c);
        }
        break;
    case PARSE_DONE: handle(c); break;
    case PARSE_FAILED: refuse(c, parser_status(c->x->parser), parser_message(c->x->parser)); break;
    }
}

/* An answer that is written at once comes back here by the loop and not by recursion. */
void conn_pump(struct conn *c)
{
    if (c->pumping)
        return;
    c->pumping = true;
    for (int n = 0; is_reading(c) && c->in.len && n < REQUESTS_A_TURN; n++)
        parse(c);
    c->pumping = false;
    if (c->state == CONN_CLOSING || c->state == CONN_LINGERING)
        return;
    if (is_reading(c) && c->in.len) {
        list_remove(&c->hungry);
        list_add_last(&c->server->hungry, &c->hungry);
        server_turn_soon(c->server);
    }
    if (c->in.len == 0)
        drop_input(c);
    if (c->in.len == 0 && c->peer_ended && is_reading(c))
        conn_close(c, "ended by the client");
    else
        set_reading(c, c->in.len < UNPARSED_MAX);
}

/* ---- writing ---- */

static void on_shutdown(uv_shutdown_t *req, int status)
{
    (void)req;
    (void)status;
}

/* Behind a refusal unread input may be left; closing now could reset the connection before the client has
 * read why (RFC 9112, 9.6). So our side is shut, and what still comes is thrown away for a while. */
static void linger(struct conn *c)
{
    if (c->peer_ended || uv_shutdown(&c->shutdown, &c->stream, on_shutdown) != 0) {
        conn_close(c, "answered");
        return;
    }
    conn_enter(c, CONN_LINGERING);
    drop_input(c);
    set_reading(c, true);
}

static void answered(struct conn *c)
{
    struct exchange *x = c->x;
    bool closes = !x->keeps_alive;
    c->x = NULL;
    server_give_back(c->server, x);
    if (closes) {
        linger(c);
        return;
    }
    conn_enter(c, CONN_IDLE);
    conn_pump(c);
}

/* What was handed to the socket is out, or lost. */
static void written(struct conn *c, int status)
{
    struct request *r = &c->x->r;
    if (status < 0) {
        conn_close(c, uv_strerror(status));
    } else if (wait_is_armed(&r->wait)) { /* conn_flush() */
        buf_reset(&r->res.body, r->res.body.cap);
        conn_enter(c, CONN_HANDLING);
        wait_finish(&r->wait);
    } else {
        answered(c);
    }
}

static void on_written(uv_write_t *req, int status)
{
    struct conn *c = req->handle->data;
    CHECK(c->magic == CONN_MAGIC);
    if (c->state != CONN_CLOSING)
        written(c, status);
}

static size_t skip(uv_buf_t *bufs, size_t *count, size_t n)
{
    size_t first = 0;
    while (first < *count && n >= bufs[first].len)
        n -= bufs[first++].len;
    if (first < *count) {
        bufs[first].base += n;
        bufs[first].len -= n;
    }
    *count -= first;
    return first;
}

/* Hands the buffers over. 1: all is out; 0: on_written() will say so; negative: the connection is lost. */
static int send_buffers(struct conn *c, uv_buf_t *bufs, size_t count)
{
    int n = uv_try_write(&c->stream, bufs, (unsigned)count);
    if (n < 0 && n != UV_EAGAIN)
        return n;
    size_t first = skip(bufs, &count, n > 0 ? (size_t)n : 0);
    if (count == 0)
        return 1;
    int status = uv_write(&c->x->write, &c->stream, bufs + first, (unsigned)count, on_written);
    c->queue_seen = uv_stream_get_write_queue_size(&c->stream);
    return status < 0 ? status : 0;
}

static void begin_answer(struct conn *c, enum response_framing framing)
{
    struct exchange *x = c->x;
    struct http_server *s = c->server;
    if (s->options.app.finish)
        s->options.app.finish(&x->r);
    if (x->r.res.close || s->draining || framing == FRAMING_CLOSE)
        x->keeps_alive = false;
    buf_reset(&x->head, x->head.cap);
    response_write_head(&x->r.res, framing, x->keeps_alive, parser_is_http_1_0(x->parser), &s->date,
                        &x->head);
}

static bool sends_body(const struct request *r)
{
    return r->method != METHOD_HEAD && response_has_body(&r->res);
}

/* The end of an answer that was sent in chunks: what is left, and the last chunk. */
static size_t last_chunk(struct exchange *x, uv_buf_t bufs[4])
{
    static char last[] = "\r\n0\r\n\r\n";
    struct str body = buf_str(&x->r.res.body);
    bool chunked = !parser_is_http_1_0(x->parser);
    size_t n = 0;
    buf_reset(&x->head, x->head.cap);
    if (chunked && body.len)
        buf_printf(&x->head, "%zx\r\n", body.len);
    if (x->head.len)
        bufs[n++] = uv_buf_init(x->head.p, (unsigned)x->head.len);
    if (body.len)
        bufs[n++] = uv_buf_init((char *)(uintptr_t)body.p, (unsigned)body.len);
    if (chunked)
        bufs[n++] = body.len ? uv_buf_init(last, 7) : uv_buf_init(last + 2, 5);
    x->r.res.bytes_sent += body.len;
    return n;
}

static size_t whole_answer(struct conn *c, uv_buf_t bufs[4])
{
    struct exchange *x = c->x;
    struct str body = response_body(&x->r.res);
    size_t n = 1;
    response_settle(&x->r);
    begin_answer(c, FRAMING_LENGTH);
    bufs[0] = uv_buf_init(x->head.p, (unsigned)x->head.len);
    if (sends_body(&x->r) && body.len) {
        bufs[n++] = uv_buf_init((char *)(uintptr_t)body.p, (unsigned)body.len);
        x->r.res.bytes_sent = body.len;
    }
    return n;
}

void conn_respond(struct conn *c)
{
    struct exchange *x = c->x;
    uv_buf_t bufs[4];
    size_t count;
    if (x->aborted) {
        conn_close(c, x->aborted);
        return;
    }
    conn_enter(c, CONN_WRITING);
    if (!x->r.res.streaming)
        count = whole_answer(c, bufs);
    else if (sends_body(&x->r))
        count = last_chunk(x, bufs);
    else /* HEAD: conn_flush() has left the head */
        bufs[0] = uv_buf_init(x->head.p, (unsigned)x->head.len), count = 1;
    int status = count ? send_buffers(c, bufs, count) : 1;
    if (status != 0)
        written(c, status);
}

/* Nobody waits any more: the connection is closing, and the write ends by itself. */
static void leave_flush(struct wait *w)
{
    (void)w;
}

enum next conn_flush(struct conn *c)
{
    static char line_end[] = "\r\n";
    struct exchange *x = c->x;
    struct request *r = &x->r;
    bool chunked = !parser_is_http_1_0(x->parser);
    uv_buf_t bufs[3];
    size_t count = 0;
    buf_reset(&x->head, x->head.cap);
    if (!r->res.streaming) {
        r->res.streaming = true;
        begin_answer(c, chunked ? FRAMING_CHUNKED : FRAMING_CLOSE);
    }
    if (!sends_body(r))
        return NEXT_DONE;
    CHECK(r->res.body.len && !r->res.body.failed);
    if (chunked)
        buf_printf(&x->head, "%zx\r\n", r->res.body.len);
    if (x->head.len)
        bufs[count++] = uv_buf_init(x->head.p, (unsigned)x->head.len);
    bufs[count++] = uv_buf_init(r->res.body.p, (unsigned)r->res.body.len);
    if (chunked)
        bufs[count++] = uv_buf_init(line_end, 2);
    r->res.bytes_sent += r->res.body.len;
    int status = send_buffers(c, bufs, count);
    if (status < 0)
        return request_abort(r, uv_strerror(status));
    if (status == 0) {
        r->wait.cancel = leave_flush;
        conn_enter(c, CONN_WRITING);
        return NEXT_WAIT;
    }
    buf_reset(&r->res.body, r->res.body.cap);
    return NEXT_YIELD;
}

/* ---- deadlines and drain ---- */

static void expire_handling(struct conn *c)
{
    if (c->x->r.res.streaming) {
        conn_close(c, "the answer took too long");
        return;
    }
    request_cancel(&c->x->r);
    refuse(c, 503, "The answer took too long.");
}

/* As long as the client takes something, it is slow and not stuck. */
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

void conn_expire(struct conn *c)
{
    switch (c->state) {
    case CONN_NEW:
    case CONN_IDLE: conn_close(c, "idle"); break;
    case CONN_HEAD: refuse(c, 408, "The request head did not arrive in time."); break;
    case CONN_BODY: refuse(c, 408, "The request body did not arrive in time."); break;
    case CONN_HANDLING: expire_handling(c); break;
    case CONN_WRITING: expire_writing(c); break;
    case CONN_LINGERING: conn_close(c, "answered"); break;
    case CONN_CLOSING: break;
    }
}

void conn_drain(struct conn *c)
{
    if (c->state == CONN_NEW || c->state == CONN_IDLE)
        conn_close(c, "the server stops");
    else if (c->x)
        c->x->keeps_alive = false;
}

/* ---- opening ---- */

static void name_peer(struct conn *c)
{
    struct sockaddr_storage address;
    int len = sizeof address;
    memcpy(c->peer, "unknown", 8);
    if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&address, &len) == 0)
        (void)uv_ip_name((const struct sockaddr *)&address, c->peer, sizeof c->peer);
}

bool conn_accept(struct http_server *s, struct listener *from)
{
    struct conn *c = xcalloc(1, sizeof *c);
    c->magic = CONN_MAGIC;
    c->server = s;
    c->is_unix = from->unix_path != NULL;
    list_init(&c->link);
    list_init(&c->hungry);
    int status = c->is_unix ? uv_pipe_init(s->loop, &c->pipe, 0) : uv_tcp_init(s->loop, &c->tcp);
    CHECK(status == 0);
    c->handle.data = c;
    s->counts.connections++;
    status = uv_accept(&from->stream, &c->stream);
    if (status == 0) {
        s->counts.accepted++;
        if (c->is_unix)
            memcpy(c->peer, "unix", 5);
        else
            name_peer(c);
        if (!c->is_unix)
            (void)uv_tcp_nodelay(&c->tcp, 1);
        conn_enter(c, CONN_NEW);
        set_reading(c, true);
        return true;
    }
    conn_enter(c, CONN_NEW);
    conn_close(c, "could not be accepted");
    return false;
}

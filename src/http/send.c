/* Sends responses, whole or in chunks, without copying the body: if the socket does not accept all of it
 * immediately, the rest stays in the response's buffer until libuv has written it. */
#include "http/conn.h"

#include "base/check.h"
#include "http/router.h"
#include "http/server_timing.h"

#include <errno.h>
#include <sys/socket.h>

enum { BUFS_MAX = 4 };

static uv_buf_t buf_of(struct str s)
{
    return uv_buf_init((char *)(uintptr_t)s.p, (unsigned)s.len);
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    (void)req;
    (void)status;
}

/* Shuts down the server's side of the connection, and discards input for a while. If the socket were closed
 * while it has unread input, this would reset the connection, possibly before the client has read the
 * response (RFC 9112, 9.6). */
static void linger(struct conn *c)
{
    if (uv_shutdown(&c->shutdown, &c->stream, on_shutdown) != 0) {
        conn_close(c, "response sent");
        return;
    }
    conn_enter(c, CONN_LINGERING);
    conn_discard_input(c);
    conn_set_reading(c, true);
}

/* The static response of conn_reject_no_memory(), valid for HTTP/1.0 and 1.1. The connection is closed after
 * it. */
#define NO_MEMORY_BODY                                                                                       \
    "{\"success\":false,\"error\":{\"code\":\"internal_error\",\"message\":\"The server is out of memory. "  \
    "Try again later.\"}}\n"
#define NO_MEMORY_HEAD                                                                                       \
    "HTTP/1.1 503 Service Unavailable\r\n"                                                                   \
    "Content-Type: application/json; charset=utf-8\r\n"                                                      \
    "Content-Length: 110\r\n"                                                                                \
    "Cache-Control: no-store\r\n"                                                                            \
    "Retry-After: 1\r\n"                                                                                     \
    "Connection: close\r\n\r\n"
_Static_assert(sizeof NO_MEMORY_BODY - 1 == 110, "Content-Length");

/* Returns true if the method of the request is HEAD. If there is no exchange, no input has been parsed, so
 * the input begins with the method. */
static bool is_head_request(const struct conn *c)
{
    return c->x ? c->x->r.method == METHOD_HEAD : str_starts_with(c->in, STR("HEAD "));
}

/* Releases the exchange, and with it the server's memory reserve. */
static void abandon_exchange(struct conn *c)
{
    struct exchange *x = c->x;
    request_cancel(&x->r);
    x->r.res.status = 503;
    x->r.res.bytes_sent = 0;
    x->head_built = true;
    conn_report_end(c, true);
    c->x = NULL;
    server_release_exchange(c->server, x);
}

void conn_reject_no_memory(struct conn *c)
{
    struct http_server *s = c->server;
    struct str text = STR(NO_MEMORY_HEAD NO_MEMORY_BODY);
    s->counts.rejected++;
    s->counts.rejected_no_memory++;
    server_warn(s, "request rejected", "out of memory");
    if (c->x && c->x->r.res.streaming) {
        conn_close(c, "out of memory");
        response_release_body(&c->x->r.res);
        arena_reset(&c->x->r.arena); /* the connection releases the exchange when it has closed */
        return;
    }
    if (is_head_request(c))
        text.len = sizeof NO_MEMORY_HEAD - 1;
    if (c->x)
        abandon_exchange(c);
    uv_buf_t buf = buf_of(text);
    (void)uv_try_write(&c->stream, &buf,
                       1); /* there is only one attempt, because waiting for the socket would need memory */
    if (c->peer_ended)
        conn_close(c, "out of memory");
    else
        linger(c);
}

static void end_response(struct conn *c)
{
    struct exchange *x = c->x;
    bool closes = !x->keeps_alive, expected = x->client_closes;
    conn_report_end(c, true);
    c->x = NULL;
    server_release_exchange(c->server, x);
    if (!closes)
        conn_enter(c, CONN_IDLE);
    else if (c->peer_ended || (expected && c->in.len == 0))
        conn_close(c, "response sent");
    else
        linger(c);
}

/* Called when a write has completed or failed. `status` is a negative libuv error if it failed. */
static void finish_write(struct conn *c, int status)
{
    struct request *r = &c->x->r;
    if (status < 0) {
        conn_close(c, uv_strerror(status));
    } else if (waiter_is_armed(&r->wait)) { /* conn_flush() has started this write */
        buf_discard_sent(&r->res.body);
        conn_enter(c, CONN_HANDLING);
        waiter_complete(&r->wait);
    } else {
        end_response(c);
    }
}

static void on_written(uv_write_t *req, int status)
{
    struct conn *c = req->handle->data;
    if (c->state == CONN_CLOSING)
        return;
    finish_write(c, status);
    if (c->state != CONN_CLOSING)
        conn_process_input(c);
}

/* Removes the first `n` bytes, which have been written, from the buffers. Returns the number of buffers that
 * are now empty. */
static size_t skip_sent(uv_buf_t *bufs, size_t count, size_t n)
{
    size_t first = 0;
    while (first < count && n >= bufs[first].len)
        n -= bufs[first++].len;
    if (first < count) {
        bufs[first].base += n;
        bufs[first].len -= n;
    }
    return first;
}

/* Returns the descriptor of the socket if sendfile(2) can send the body: the response is whole (`count` is 2:
 * head and body), its body is in a file, and libuv's write queue is empty. Otherwise returns -1, and libuv
 * must send the response. */
static int socket_for_file(struct conn *c, size_t count)
{
    const struct response *res = &c->x->r.res;
    uv_os_fd_t fd;
    if (count != 2 || !res->shared_body || !shared_body_is_file(res->shared_body) ||
        uv_stream_get_write_queue_size(&c->stream) != 0 || uv_fileno(&c->handle, &fd) != 0)
        return -1;
    return fd;
}

/* Returns the number of bytes sent or a libuv error, like uv_try_write(). MSG_MORE puts the head into the
 * first packet of the body. An error of sendfile(2) is ignored, because the attempt to send the rest reports
 * it again. */
static int send_head_and_file(const struct shared_body *body, int socket, uv_buf_t head)
{
    const ssize_t sent = send(socket, head.base, head.len, MSG_MORE | MSG_NOSIGNAL);
    if (sent < 0)
        return uv_translate_sys_error(errno);
    if ((size_t)sent < head.len)
        return (int)sent;
    const ssize_t of_body = shared_body_send(body, socket);
    return (int)(sent + (of_body > 0 ? of_body : 0));
}

/* Writes the buffers. Returns 1 if everything was written, 0 if on_written() will be called, or a negative
 * libuv error. */
static int send_buffers(struct conn *c, uv_buf_t *bufs, size_t count)
{
    const int socket = socket_for_file(c, count);
    int n = 0;
    if (socket >= 0)
        n = send_head_and_file(c->x->r.res.shared_body, socket, bufs[0]);
    else if (count)
        n = uv_try_write(&c->stream, bufs, (unsigned)count);
    if (n < 0 && n != UV_EAGAIN)
        return n;
    size_t first = skip_sent(bufs, count, n > 0 ? (size_t)n : 0);
    if (first == count)
        return 1;
    int status = uv_write(&c->x->write, &c->stream, bufs + first, (unsigned)(count - first), on_written);
    c->queue_seen = uv_stream_get_write_queue_size(&c->stream);
    return status < 0 ? status : 0;
}

static void begin_response(struct conn *c, enum response_framing framing)
{
    struct exchange *x = c->x;
    struct http_server *s = c->server;
    CHECK(x->r.res.status);
    x->head_built = true;
    if (x->r.app->finish)
        x->r.app->finish(&x->r);
    if (server_timing_is_requested(c))
        server_timing_add(&x->r, clock_work_us());
    /* The client has shut down its side and no further request has arrived. */
    bool last = c->peer_ended && c->in.len == 0;
    if (x->r.res.close || s->draining || framing == FRAMING_CLOSE || last)
        x->keeps_alive = false;
    buf_reset(&x->head, x->head.cap);
    response_write_head(&x->r.res, framing, x->keeps_alive, parser_is_http_1_0(x->parser), &s->date,
                        &x->head);
}

static bool sends_body(const struct request *r)
{
    return r->method != METHOD_HEAD && response_has_body(&r->res);
}

static size_t whole_response(struct conn *c, uv_buf_t bufs[BUFS_MAX])
{
    struct exchange *x = c->x;
    size_t count = 0;
    response_apply_etag(&x->r);
    begin_response(c, FRAMING_LENGTH);
    struct str body = response_body(&x->r.res);
    bufs[count++] = buf_of(buf_str(&x->head));
    if (sends_body(&x->r) && body.len) {
        bufs[count++] = buf_of(body);
        x->r.res.bytes_sent = body.len;
    }
    return count;
}

/* Sets `bufs` to one chunk: the head unless it has been sent, the framing, the bytes, and the final chunk if
 * `last` is true. Returns the number of buffers. */
static size_t chunk(struct exchange *x, bool last, uv_buf_t bufs[BUFS_MAX])
{
    bool chunked = !parser_is_http_1_0(x->parser);
    struct str body = buf_str(&x->r.res.body);
    size_t count = 0;
    if (chunked && body.len)
        buf_printf(&x->head, "%zx\r\n", body.len);
    if (x->head.len)
        bufs[count++] = buf_of(buf_str(&x->head));
    if (body.len)
        bufs[count++] = buf_of(body);
    if (chunked && body.len)
        bufs[count++] = buf_of(STR("\r\n"));
    if (chunked && last)
        bufs[count++] = buf_of(STR("0\r\n\r\n"));
    x->r.res.bytes_sent += body.len;
    return count;
}

static size_t last_chunk(struct exchange *x, uv_buf_t bufs[BUFS_MAX])
{
    if (sends_body(&x->r)) {
        buf_reset(&x->head, x->head.cap);
        return chunk(x, true, bufs);
    }
    /* The response needs no body (HEAD). conn_flush() has built its head but not sent it. */
    bufs[0] = buf_of(buf_str(&x->head));
    return 1;
}

void conn_respond(struct conn *c)
{
    struct exchange *x = c->x;
    uv_buf_t bufs[BUFS_MAX];
    if (request_lacks_memory(x)) {
        conn_reject_no_memory(c);
        return;
    }
    bool truncated = x->aborted || x->r.res.body.failed;
    if (truncated && x->r.res.streaming) {
        conn_close(c, x->aborted ? x->aborted : "response too large");
        return;
    }
    if (truncated) {
        conn_reject(c, 500, "The response cannot be completed.");
        return;
    }
    conn_enter(c, CONN_WRITING);
    size_t count = x->r.res.streaming ? last_chunk(x, bufs) : whole_response(c, bufs);
    if (request_lacks_memory(x)) {
        conn_reject_no_memory(c);
        return;
    }
    int status = send_buffers(c, bufs, count);
    if (status != 0)
        finish_write(c, status);
    else
        request_begin_wait(&x->r, &x->r.times.sending_us);
}

/* Does nothing. The wait for a write is canceled only when the connection closes. In this case libuv cancels
 * the write. */
static void cancel_flush(struct waiter *w)
{
    (void)w;
}

enum next conn_flush(struct conn *c)
{
    struct exchange *x = c->x;
    struct request *r = &x->r;
    uv_buf_t bufs[BUFS_MAX];
    CHECK(c->state == CONN_HANDLING);
    if (r->res.body.failed)
        return request_abort(r, "response too large");
    buf_reset(&x->head, x->head.cap);
    if (!r->res.streaming) {
        r->res.streaming = true;
        begin_response(c, parser_is_http_1_0(x->parser) ? FRAMING_CLOSE : FRAMING_CHUNKED);
    }
    if (!sends_body(r))
        return NEXT_DONE;
    size_t count = chunk(x, false, bufs);
    if (request_lacks_memory(x))
        return request_abort(r, "out of memory");
    int status = send_buffers(c, bufs, count);
    if (status < 0)
        return request_abort(r, uv_strerror(status));
    if (status == 0) {
        r->wait.cancel = cancel_flush;
        conn_enter(c, CONN_WRITING);
        return NEXT_WAIT;
    }
    buf_discard_sent(&r->res.body);
    return NEXT_YIELD;
}

/* Ignores a failure. The interim response fits into the socket's buffer if the client reads; if the client
 * does not read, the deadline of the body expires. */
void conn_send_continue(struct conn *c)
{
    uv_buf_t buf = buf_of(STR("HTTP/1.1 100 Continue\r\n\r\n"));
    (void)uv_try_write(&c->stream, &buf, 1);
}

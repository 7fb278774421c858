/* Stops a server: closes listeners and connections without losing a request. Two phases:
 *
 *   SERVING   begins with http_server_drain(). The server still accepts connections, and idle ones stay
 *             open, but each response closes its connection. Ends when all connections that were open
 *             at the call have closed, or after 3/4 of drain_ms.
 *   LEAVING   begins after SERVING, or with http_server_close(). The server closes listeners and idle
 *             connections, and completes the requests in flight. Ends when all connections have
 *             closed; after drain_ms, the server closes the rest.
 *
 * A client such as nginx may send a request on an idle connection at the moment when the server closes it.
 * The request then fails, and a client must not repeat a POST that failed. So in SERVING the server announces
 * to each client, in a response, that the connection will close. */
#include "base/clock.h"
#include "http/conn.h"

enum {
    LISTEN_DRAIN_MS = 100,
    UNUSED_MS = 2000, /* a client that has sent nothing for this long since it connected is not expected to
                         send a request */
};

/* Closes the connections on which no request is expected any more: idle connections, and connections that
 * were never used. After http_server_drain(), a connection that was just opened stays open, because its
 * client is about to send a request. */
static void close_idle(struct http_server *s)
{
    const int64_t now_ms = server_now_ms(s);
    for (int state = CONN_NEW; state <= CONN_IDLE; state++)
        for (struct list *link = s->conns[state].next, *next; link != &s->conns[state]; link = next) {
            struct conn *c = LIST_ENTRY(link, struct conn, link);
            next = link->next;
            const bool expects =
                s->drains_gradually && state == CONN_NEW && now_ms < c->entered_ms + UNUSED_MS;
            if (!expects)
                conn_drain(c);
        }
}

/* Closes the connections that were opened at least UNUSED_MS ago but never used. Returns the time (monotonic
 * ms) at which the function must be called again. */
static int64_t close_unused(struct http_server *s, int64_t now_ms)
{
    for (struct list *link = s->conns[CONN_NEW].next, *next; link != &s->conns[CONN_NEW]; link = next) {
        struct conn *c = LIST_ENTRY(link, struct conn, link);
        next = link->next;
        if (now_ms < c->entered_ms + UNUSED_MS)
            return c->entered_ms + UNUSED_MS;
        conn_drain(c);
    }
    return now_ms + UNUSED_MS;
}

/* Closes a listener when its backlog is empty, or after LISTEN_DRAIN_MS. A client in the backlog may already
 * have sent a request, and closing the listener would reset its connection. The backlog of a passed socket
 * need not be empty: the next process accepts the connections in it. */
static void drain_listeners(struct http_server *s)
{
    bool late = s->forced || clock_mono_ms() >= s->listen_until_ms;
    struct listener **at = &s->listeners, *l;
    while ((l = *at) != NULL) {
        if (!late && (l->waiting || (!l->is_passed && listener_has_backlog(l)))) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        listener_close(l);
    }
    if (!s->listeners)
        close_idle(s);
}

static void leave(struct http_server *s)
{
    s->still_serves = false;
    s->listen_until_ms = clock_mono_ms() + LISTEN_DRAIN_MS;
    close_idle(s);
    server_iterate_soon(s); /* server_drain_continue() closes the listeners */
}

static void force(struct http_server *s, const char *reason)
{
    s->still_serves = false;
    server_close_all(s, reason);
    server_iterate_soon(s);
}

bool server_drain_continue(struct http_server *s)
{
    if (s->still_serves && s->old_connections == 0)
        leave(s);
    if (s->draining && !s->still_serves && s->listeners)
        drain_listeners(s);
    return s->draining && !s->still_serves && s->listeners != NULL;
}

int64_t server_drain_tick(struct http_server *s, int64_t now_ms)
{
    if (!s->draining)
        return INT64_MAX;
    if (now_ms >= s->drain_until_ms) {
        if (!s->forced)
            force(s, "server is stopping");
        return INT64_MAX;
    }
    int64_t next_ms = s->drain_until_ms;
    if (s->still_serves && now_ms >= s->leave_at_ms)
        leave(s);
    else if (s->still_serves)
        next_ms = s->leave_at_ms;
    const int64_t unused_ms = s->drains_gradually ? close_unused(s, now_ms) : INT64_MAX;
    return unused_ms < next_ms ? unused_ms : next_ms;
}

static void begin(struct http_server *s, void (*closed)(void *ctx), void *ctx)
{
    s->closed = closed;
    s->closed_ctx = ctx;
    s->draining = true;
    s->drain_until_ms = clock_mono_ms() + s->options.limits.drain_ms;
    server_schedule_tick(s, s->drain_until_ms);
}

void http_server_drain(struct http_server *s, void (*closed)(void *ctx), void *ctx)
{
    if (s->draining) {
        http_server_close(s, closed, ctx);
        return;
    }
    begin(s, closed, ctx);
    s->still_serves = s->drains_gradually = true;
    s->old_connections = s->counts.connections;
    s->leave_at_ms = s->drain_until_ms - s->options.limits.drain_ms / 4;
    server_schedule_tick(s, server_drain_tick(s, clock_mono_ms()));
    server_iterate_soon(s);
}

void http_server_close(struct http_server *s, void (*closed)(void *ctx), void *ctx)
{
    if (s->draining) {
        force(s, "server is forced to stop");
        return;
    }
    begin(s, closed, ctx);
    leave(s);
    server_end_if_drained(s);
}

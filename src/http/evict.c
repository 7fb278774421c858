/* Room at max_connections: idle connections are closed while a client waits to be accepted. Without this, as
 * many idle keep-alive connections as there are places would lock everybody else out until they time out. */
#include "http/conn.h"

enum {
    /* A client that connects and sends nothing has no use for its place. */
    UNUSED_KEPT_MS = 2000,
    /* nginx may be sending a request on a connection that was just used, and does not repeat a POST that
     * met a closed connection. */
    IDLE_KEPT_MS = 1000,
};

/* Closes the connection of `state` that has been in it longest, if that is `kept_ms`. Returns false and
 * lowers
 * `*next_ms` to when one will be, if none is yet. */
static bool evict_oldest(struct http_server *s, enum conn_state state, int64_t kept_ms, int64_t now_ms,
                         int64_t *next_ms)
{
    for (struct list *link = s->conns[state].next; link != &s->conns[state]; link = link->next) {
        struct conn *c = LIST_ENTRY(link, struct conn, link);
        const int64_t due_ms = c->entered_ms + kept_ms;
        if (due_ms > now_ms) {
            *next_ms = due_ms < *next_ms ? due_ms : *next_ms;
            return false;
        }
        if (!conn_has_unread_input(c)) {
            conn_close(c, "idle, and another client waits for a connection");
            return true;
        }
    }
    return false;
}

/* Clients that wait, less the places that are being freed. */
static int places_needed(const struct http_server *s)
{
    int needed = 0;
    for (const struct listener *l = s->listeners; l; l = l->next)
        needed += l->waiting;
    for (const struct list *link = s->conns[CONN_CLOSING].next; link != &s->conns[CONN_CLOSING];
         link = link->next)
        needed--;
    return needed;
}

int64_t server_evict(struct http_server *s, int64_t now_ms)
{
    /* Connections that become idle later are found at the next look. */
    int64_t next_ms = now_ms + IDLE_KEPT_MS;
    int needed = places_needed(s);
    for (; needed > 0; needed--) {
        if (evict_oldest(s, CONN_NEW, UNUSED_KEPT_MS, now_ms, &next_ms))
            s->counts.evicted_unused++;
        else if (evict_oldest(s, CONN_IDLE, IDLE_KEPT_MS, now_ms, &next_ms))
            s->counts.evicted_idle++;
        else
            return next_ms;
    }
    return INT64_MAX;
}

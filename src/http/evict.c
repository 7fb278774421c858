/* Evicts idle connections while a client waits to be accepted. Without eviction, max_connections idle
 * keep-alive connections would lock out all other clients until the idle connections time out. */
#include "http/conn.h"

enum {
    UNUSED_MIN_MS = 2000, /* a connection that was never used is evicted only this long after it was opened */
    /* A connection is evicted only after it has been idle for this long. nginx may be sending a request on a
     * connection that was just used, and does not retry a POST that failed because the connection was
     * closed. */
    IDLE_MIN_MS = 1000,
};

/* Considers the connections in `state`, except those with unread input. If the one that has been in this
 * state longest has been in it for at least `min_ms`, closes it and returns true. Otherwise returns false. If
 * there are newer connections in this state, lowers `*next_ms` to the time when the first of them has been in
 * it for `min_ms`. */
static bool evict_oldest(struct http_server *s, enum conn_state state, int64_t min_ms, int64_t now_ms,
                         int64_t *next_ms)
{
    for (struct list *link = s->conns[state].next; link != &s->conns[state]; link = link->next) {
        struct conn *c = LIST_ENTRY(link, struct conn, link);
        const int64_t due_ms = c->entered_ms + min_ms;
        if (due_ms > now_ms) {
            *next_ms = due_ms < *next_ms ? due_ms : *next_ms;
            return false;
        }
        if (!conn_has_unread_input(c)) {
            conn_close(c, "evicted for a waiting client");
            return true;
        }
    }
    return false;
}

/* Returns the number of waiting clients minus the number of connections that are already closing. */
static int evictions_needed(const struct http_server *s)
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
    int64_t next_ms = now_ms + IDLE_MIN_MS; /* by then, another connection may have been idle for
                                               IDLE_MIN_MS */
    int needed = evictions_needed(s);
    for (; needed > 0; needed--) {
        if (evict_oldest(s, CONN_NEW, UNUSED_MIN_MS, now_ms, &next_ms))
            s->counts.evicted_unused++;
        else if (evict_oldest(s, CONN_IDLE, IDLE_MIN_MS, now_ms, &next_ms))
            s->counts.evicted_idle++;
        else
            return next_ms;
    }
    return INT64_MAX;
}

/* The server: the pool of exchanges, loop iterations, the tick, opening and closing. drain.c stops the
 * server. */
#include "http/server.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "http/conn.h"
#include "http/descriptors.h"

#include <stdio.h>
#include <stdlib.h>

enum {
#ifdef VT_TEST_SEAMS
    TICK_MAX_MS = 50,
#else
    TICK_MAX_MS = 10000,
#endif
    TICK_MIN_MS = 10,
    ITERATION_US = 2000,
    POOL_MAX = 64,
    ARENA_BLOCK = 8 << 10,
    BODY_RETAINED = 64 << 10, /* body buffers up to this capacity always stay allocated in the pool */
    POOLED_LARGE_BYTES =
        2
        << 20, /* maximum total capacity of the body buffers in the pool that are larger than BODY_RETAINED */
    HEAD_MAX = 32 << 10,
    HEAD_FIRST_BYTES = 1 << 10, /* initial capacity of a response head buffer; most heads are smaller */
    RESERVE_BYTES = 1 << 20,    /* size of http_server.reserve; more than any step of a handler allocates */
    ACCEPT_AGAIN_MS = 100,
};

/* ---- pool of exchanges ---- */

static void exchange_free(struct exchange *x)
{
    if (x->parser)
        parser_free(x->parser);
    arena_fini(&x->r.arena);
    buf_fini(&x->r.res.body);
    buf_fini(&x->head);
    free(x);
}

static struct exchange *exchange_new(struct http_server *s)
{
    struct exchange *x = try_calloc(1, sizeof *x);
    if (!x)
        return NULL;
    request_init(x);
    x->parser = parser_new(str_from_cstr(s->options.extra_field));
    arena_init(&x->r.arena, ARENA_BLOCK);
    x->r.arena.reserve = &s->reserve;
    buf_init_fallible(&x->r.res.body, BODY_MAX_BYTES);
    buf_init_fallible(&x->head, HEAD_MAX);
    if (x->parser && arena_allocate_first_block(&x->r.arena) && buf_reserve(&x->head, HEAD_FIRST_BYTES))
        return x;
    exchange_free(x);
    return NULL;
}

static size_t large_body(const struct exchange *x)
{
    return x->r.res.body.cap > BODY_RETAINED ? x->r.res.body.cap : 0;
}

struct exchange *server_acquire_exchange(struct http_server *s)
{
    struct exchange *x;
    if (list_is_empty(&s->pool)) {
        x = exchange_new(s);
        s->counts.requests_in_flight += x != NULL;
        return x;
    }
    s->counts.requests_in_flight++;
    x = LIST_ENTRY(s->pool.next, struct exchange, link);
    list_remove(&x->link);
    s->pooled--;
    s->pooled_large_bytes -= large_body(x);
    return x;
}

void server_release_exchange(struct http_server *s, struct exchange *x)
{
    CHECK(!x->active && !x->running && !x->ready);
    s->counts.requests_in_flight--;
    list_remove(&x->link);
    response_release_body(&x->r.res);
    if (s->pooled >= POOL_MAX) {
        exchange_free(x);
        return;
    }
    arena_reset(&x->r.arena);
    buf_reset(&x->head, x->head.cap);
    bool fits = s->pooled_large_bytes + large_body(x) <= POOLED_LARGE_BYTES;
    buf_reset(&x->r.res.body, fits ? x->r.res.body.cap : BODY_RETAINED);
    s->pooled_large_bytes += large_body(x);
    struct arena arena = x->r.arena;
    struct buf body = x->r.res.body;
    x->r = (struct request){.arena = arena, .res = {.body = body}};
    x->conn = NULL;
    x->aborted = NULL;
    x->head_built = x->keeps_alive = x->client_closes = false;
    /* The most recently used exchange is reused first, because its memory is in the processor's cache. */
    list_add_last(s->pool.next, &x->link);
    s->pooled++;
}

/* ---- loop iterations ---- */

static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

void server_warn(struct http_server *s, const char *what, const char *reason)
{
    const int64_t now_ms = server_now_ms(s);
    if (now_ms < s->warn_again_ms)
        return;
    s->warn_again_ms = now_ms + SECOND_MS;
    log_warn("%s: %s", what, reason);
}

void server_iterate_soon(struct http_server *s)
{
    (void)uv_idle_start(&s->idle, on_idle);
}

/* Runs the scheduled connections, but only for about ITERATION_US, so that sockets are polled again soon. The
 * remaining connections run first in the next iteration. */
static void run_ready_conns(struct http_server *s)
{
    int64_t start_us = s->work_us = clock_work_us();
    struct list mark; /* connections that are scheduled from now on run in the next iteration */
    list_init(&mark);
    list_add_last(&s->scheduled, &mark);
    while (s->scheduled.next != &mark && s->work_us - start_us < ITERATION_US) {
        struct conn *c = LIST_ENTRY(s->scheduled.next, struct conn, scheduled);
        list_remove(&c->scheduled);
        conn_run(c);
        s->work_us = clock_work_us();
    }
    list_remove(&mark);
}

static void on_check(uv_check_t *check)
{
    struct http_server *s = check->data;
    run_ready_conns(s);
    if (s->tick_failed)
        server_schedule_tick(s, s->tick_ms);
    const bool drains = server_drain_continue(s);
    if (list_is_empty(&s->scheduled) && !s->tick_failed && !drains)
        (void)uv_idle_stop(&s->idle);
}

/* ---- periodic work: deadlines and waiting connections ---- */

static void on_tick(uv_timer_t *timer);

/* With test seams, the timer fires often, because a test may move the clock at any time. In the release
 * build, it fires at the next deadline. */
void server_schedule_tick(struct http_server *s, int64_t deadline_ms)
{
    if (s->closing || (s->ticking && s->tick_ms <= deadline_ms))
        return;
    if (s->tick_failed && s->tick_ms < deadline_ms)
        deadline_ms = s->tick_ms;
    int64_t now = clock_mono_ms(), delay = deadline_ms - now;
    delay = delay < TICK_MIN_MS ? TICK_MIN_MS : delay > TICK_MAX_MS ? TICK_MAX_MS : delay;
    const bool failed = FAULT_OR(UV_ENOMEM, uv_timer_start(&s->tick, on_tick, (uint64_t)delay, 0)) != 0;
    s->ticking = !failed;
    s->tick_failed = failed;
    s->tick_ms = now + delay;
    if (failed)
        server_iterate_soon(s);
}

/* Times out the expired connections of the state. Returns the next deadline. */
static int64_t expire(struct http_server *s, enum conn_state state, int64_t now_ms)
{
    struct list *list = &s->conns[state];
    while (!list_is_empty(list)) {
        struct conn *c = LIST_ENTRY(list->next, struct conn, link);
        if (c->deadline_ms > now_ms)
            return c->deadline_ms;
        conn_time_out(c);
    }
    return INT64_MAX;
}

void server_close_all(struct http_server *s, const char *reason)
{
    s->forced = true;
    for (int state = 0; state < CONN_CLOSING; state++)
        while (!list_is_empty(&s->conns[state]))
            conn_close(LIST_ENTRY(s->conns[state].next, struct conn, link), reason);
}

static bool has_room(const struct http_server *s)
{
    return s->counts.connections < s->options.limits.max_connections && !s->forced;
}

/* Accepts waiting connections, and evicts idle ones if there is no room. libuv stores one waiting connection
 * per listener and stops accepting until this connection is accepted here; further connections wait in the
 * kernel's backlog. Returns the time at which the function must be called again (monotonic ms), or INT64_MAX
 * if no client waits any more, or if enough connections are closing. */
static int64_t accept_waiting(struct http_server *s)
{
    const int64_t now_ms = server_now_ms(s);
    int64_t again_ms = INT64_MAX;
    for (struct listener *l = s->listeners; l; l = l->next)
        if (l->waiting && has_room(s)) {
            l->waiting = conn_accept(s, l) == ERR_NOMEM;
            if (!l->waiting)
                continue;
            again_ms = now_ms + ACCEPT_AGAIN_MS;
            server_warn(s, "cannot accept a connection", "out of memory");
        }
    const int64_t evict_again_ms = server_evict(s, now_ms);
    return evict_again_ms < again_ms ? evict_again_ms : again_ms;
}

static void accept_waiting_and_tick(struct http_server *s)
{
    const int64_t again_ms = accept_waiting(s);
    if (again_ms < INT64_MAX)
        server_schedule_tick(s, again_ms);
}

static void on_tick(uv_timer_t *timer)
{
    struct http_server *s = timer->data;
    int64_t now = clock_mono_ms();
    s->ticking = false;
    int64_t next = request_wake_expired(s, now);
    for (int state = 0; state < CONN_CLOSING; state++) {
        int64_t due = expire(s, (enum conn_state)state, now);
        next = due < next ? due : next;
    }
    const int64_t accept_again = accept_waiting(s);
    next = accept_again < next ? accept_again : next;
    const int64_t drain = server_drain_tick(s, now);
    next = drain < next ? drain : next;
    if (next < INT64_MAX)
        server_schedule_tick(s, next);
}

/* ---- listeners ---- */

void server_on_connection(struct listener *l)
{
    struct http_server *s = l->server;
    l->waiting = true;
    accept_waiting_and_tick(s);
}

/* ---- closing the server ---- */

static void on_own_handle_closed(uv_handle_t *handle)
{
    server_handle_closed(handle->data);
}

static void close_own_handles(struct http_server *s)
{
    s->closing = true;
    if (s->tick.data)
        uv_close((uv_handle_t *)&s->tick, on_own_handle_closed);
    if (s->check.data)
        uv_close((uv_handle_t *)&s->check, on_own_handle_closed);
    if (s->idle.data)
        uv_close((uv_handle_t *)&s->idle, on_own_handle_closed);
}

static void free_server(struct http_server *s)
{
    while (!list_is_empty(&s->pool)) {
        struct exchange *x = LIST_ENTRY(s->pool.next, struct exchange, link);
        list_remove(&x->link);
        exchange_free(x);
    }
    arena_reserve_fini(&s->reserve);
    descriptors_unreserve(s->options.limits.max_connections);
    void (*closed)(void *) = s->closed;
    void *ctx = s->closed_ctx;
    free(s);
    if (closed)
        closed(ctx);
}

/* When the last connection and listener have closed, closes the server's own handles. When these have closed,
 * frees the server. */
void server_end_if_drained(struct http_server *s)
{
    if (s->draining && !s->closing && s->counts.connections == 0 && !s->listeners)
        close_own_handles(s);
    else if (s->closing && s->open_handles == 0)
        free_server(s);
}

void server_handle_closed(struct http_server *s)
{
    s->open_handles--;
    server_end_if_drained(s);
}

void server_conn_closed(struct http_server *s, bool is_old)
{
    s->counts.connections--;
    if (s->still_serves && is_old && --s->old_connections == 0)
        server_iterate_soon(s);
    accept_waiting_and_tick(s);
    server_end_if_drained(s);
}

/* ---- opening the server ---- */

/* Returns NULL if out of memory. */
static struct http_server *server_new(uv_loop_t *loop, const struct http_options *options)
{
    struct http_server *s = try_calloc(1, sizeof *s);
    if (!s || !arena_reserve_init(&s->reserve, RESERVE_BYTES)) {
        free(s);
        return NULL;
    }
    s->loop = loop;
    s->options = *options;
    if (!s->options.key)
        s->options.key = "[server] listen";
    s->options.limits.max_connections = descriptors_reserve(options->limits.max_connections);
    s->date.second = -1;
    for (int state = 0; state < CONN_STATES; state++)
        list_init(&s->conns[state]);
    list_init(&s->pool);
    list_init(&s->scheduled);
    list_init(&s->sleeping);
    return s;
}

/* Call with the `status` that the initialization of a handle has returned, and a pointer to its `data`. If
 * `status` is 0 (success), counts the handle and sets its data to the server. Returns `status`. */
static int own_handle(struct http_server *s, int status, void **data)
{
    if (status == 0) {
        *data = s;
        s->open_handles++;
    }
    return status;
}

/* Initializes the server's own handles (tick, check, idle), starts `check`, and sets id_salt. Returns a
 * status of libuv. */
static int open_own_handles(struct http_server *s)
{
    int status = own_handle(s, FAULT_OR(UV_ENOMEM, uv_timer_init(s->loop, &s->tick)), &s->tick.data);
    if (status == 0)
        status = own_handle(s, FAULT_OR(UV_ENOMEM, uv_check_init(s->loop, &s->check)), &s->check.data);
    if (status == 0)
        status = own_handle(s, FAULT_OR(UV_ENOMEM, uv_idle_init(s->loop, &s->idle)), &s->idle.data);
    if (status == 0)
        status = FAULT_OR(UV_ENOMEM, uv_check_start(&s->check, on_check));
    if (status == 0)
        status = FAULT_OR(UV_EIO, uv_random(NULL, NULL, &s->id_salt, sizeof s->id_salt, 0, NULL));
    return status;
}

static enum err read_proxies(struct http_server *s, struct error *error)
{
    for (size_t i = 0; i < s->options.trusted_proxy_count; i++)
        if (!proxies_add(&s->proxies, str_from_cstr(s->options.trusted_proxies[i])))
            return error_set(
                error, ERR_INVALID,
                "[server] trusted_proxies: must be at most %d addresses, networks such as 10.0.0.0/8, or "
                "unix",
                PROXIES_MAX);
    return OK;
}

static enum err listen_all(struct http_server *s, struct error *error)
{
    for (size_t i = 0; i < s->options.listen_count; i++) {
        const enum err err = listener_open(s, s->options.listen[i], error);
        if (err)
            return err;
    }
    for (size_t i = 0; i < s->options.passed_count; i++) {
        const enum err err = listener_adopt(s, s->options.passed[i], error);
        if (err)
            return err;
    }
    return OK;
}

enum err http_server_open(struct http_server **out, uv_loop_t *loop, const struct http_options *options,
                          struct error *error)
{
    struct http_server *s = server_new(loop, options);
    if (!s)
        return error_set(error, ERR_NOMEM, "the HTTP server cannot start: out of memory");
    int status = open_own_handles(s);
    if (status != 0) {
        close_own_handles(s);
        server_end_if_drained(s);
        return error_set(error, status == UV_ENOMEM ? ERR_NOMEM : ERR_IO, "the HTTP server cannot start: %s",
                         uv_strerror(status));
    }
    enum err err = read_proxies(s, error);
    if (!err)
        err = listen_all(s, error);
    s->options.listen = NULL;
    s->options.passed = NULL;
    s->options.trusted_proxies = NULL;
    if (err) {
        s->forced = true;
        http_server_close(s, NULL, NULL);
        return err;
    }
    *out = s;
    return OK;
}

void http_server_print_addresses(const struct http_server *s, const char *label)
{
    for (const struct listener *l = s->listeners; l; l = l->next)
        printf("%s %s\n", label, l->name);
    (void)fflush(stdout);
}

void http_server_set_timing(struct http_server *s, bool timing)
{
    s->options.timing = timing;
}

struct http_server_counts http_server_get_counts(const struct http_server *s)
{
    struct http_server_counts counts = s->counts;
    for (const struct listener *l = s->listeners; l; l = l->next)
        counts.waiting += l->waiting;
    return counts;
}

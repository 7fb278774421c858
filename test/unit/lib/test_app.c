/* The request handlers of the test application. */
#include "lib/test_app.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

/* The record of an operation that a driver has started. It is on the heap, because it can outlive the
 * request. */
struct call {
    struct list link;
    struct waiter *wait; /* NULL: canceled */
    struct test_app *app;
    uv_timer_t timer; /* only for /busy */
};

struct state {
    uint64_t n;
    int64_t until_ms, slice_us;
    struct waiter other;
};

static struct test_app *app_of(struct request *r)
{
    return r->app->ctx;
}

static enum next text(struct request *r, int status, struct str body)
{
    r->res.status = status;
    r->res.content_type = STR("text/plain");
    buf_append(&r->res.body, body);
    return NEXT_DONE;
}

static void append_bytes(struct buf *b, size_t n)
{
    char *to = buf_reserve(b, n);
    for (size_t i = 0; to && i < n; i++)
        to[i] = (char)('a' + i % 26);
    b->len += to ? n : 0;
}

/* ---- large and streamed responses ---- */

static enum next big_step(struct request *r)
{
    struct state *s = r->state;
    append_bytes(&r->res.body, s->n);
    return text(r, 200, STR(""));
}

static enum next fixed_step(struct request *r)
{
    static char bytes[PART_BYTES];
    memset(bytes, 'f', sizeof bytes);
    response_set_constant_body(r, str_make(bytes, sizeof bytes));
    r->res.status = 200;
    r->res.content_type = STR("text/plain");
    return NEXT_DONE;
}

static enum next stream_step(struct request *r)
{
    struct state *s = r->state;
    r->res.status = 200;
    r->res.content_type = STR("text/plain");
    if (s->n-- == 0)
        return NEXT_DONE;
    append_bytes(&r->res.body, PART_BYTES);
    r->step = stream_step;
    return request_flush(r);
}

static enum next abort_step(struct request *r)
{
    struct state *s = r->state;
    if (s->n == 0)
        return request_abort(r, "aborted by the test");
    enum next next = stream_step(r);
    r->step = abort_step;
    return next;
}

/* ---- loop iterations ---- */

static enum next yield_step(struct request *r)
{
    struct state *s = r->state;
    app_of(r)->iterations++;
    if (s->n-- == 0)
        return text(r, 200, STR("yielded"));
    r->step = yield_step;
    return NEXT_YIELD;
}

static enum next more_step(struct request *r)
{
    struct state *s = r->state;
    int64_t until = clock_work_us() + 1000;
    while (clock_work_us() < until)
        ;
    app_of(r)->iterations++;
    if (s->n-- == 0)
        return text(r, 200, STR("more"));
    r->step = more_step;
    return NEXT_MORE;
}

/* ---- waits ---- */

static enum next slept_step(struct request *r)
{
    struct state *s = r->state;
    return text(r, 200, clock_mono_ms() >= s->until_ms ? STR("slept") : STR("woken"));
}

static enum next sleep_step(struct request *r)
{
    struct state *s = r->state;
    s->until_ms = clock_mono_ms() + (int64_t)s->n;
    r->step = slept_step;
    return request_sleep(r, s->until_ms);
}

static void cancel_call(struct waiter *w)
{
    struct call *call = w->call;
    call->wait = NULL;
    call->app->canceled++;
}

static enum next start_call(struct request *r, struct call **out)
{
    struct call *call = xcalloc(1, sizeof *call);
    call->app = app_of(r);
    call->wait = &r->wait;
    list_init(&call->link);
    r->wait.call = call;
    r->wait.cancel = cancel_call;
    *out = call;
    return NEXT_WAIT;
}

static void end_call(struct call *call)
{
    list_remove(&call->link);
    if (call->wait)
        waiter_complete(call->wait);
}

static enum next late_done_step(struct request *r)
{
    return text(r, 200, STR("late"));
}

static enum next late_step(struct request *r)
{
    struct call *call;
    r->step = late_done_step;
    enum next next = start_call(r, &call);
    list_add_last(&app_of(r)->late, &call->link);
    return next;
}

int test_app_complete_late(struct test_app *app)
{
    int n = 0;
    while (!list_is_empty(&app->late)) {
        struct call *call = LIST_ENTRY(app->late.next, struct call, link);
        end_call(call);
        free(call);
        n++;
    }
    return n;
}

static void on_call_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void end_busy_call(uv_timer_t *timer)
{
    end_call(timer->data);
    uv_close((uv_handle_t *)timer, on_call_closed);
}

static enum next busy_step(struct request *r)
{
    struct call *call;
    r->step = late_done_step;
    enum next next = start_call(r, &call);
    CHECK(uv_timer_init(app_of(r)->loop, &call->timer) == 0);
    call->timer.data = call;
    CHECK(uv_timer_start(&call->timer, end_busy_call, 0, 0) == 0);
    return next;
}

/* ---- memory ---- */

static void allocate(struct request *r)
{
    const struct state *s = r->state;
    for (uint64_t i = 0; i < s->n; i++)
        memset(arena_alloc(&r->arena, 1024), 'a', 1024);
}

static enum next arena_step(struct request *r)
{
    allocate(r);
    return text(r, 200, STR("allocated"));
}

static enum next held_step(struct request *r)
{
    return text(r, 200, STR("held"));
}

static enum next hold_step(struct request *r)
{
    allocate(r);
    r->step = held_step;
    return request_sleep(r, INT64_MAX);
}

/* ---- short responses ---- */

static enum next plain_step(struct request *r)
{
    return text(r, 200, STR("hello"));
}

static enum next echo_step(struct request *r)
{
    return text(r, 200, r->body);
}

static enum next empty_step(struct request *r)
{
    r->res.status = 204;
    return NEXT_DONE;
}

static enum next error_step(struct request *r)
{
    r->res.close = true;
    return text(r, 500, STR("an error"));
}

#define ROUTE(p, s)                                                                                          \
    &(const struct route)                                                                                    \
    {                                                                                                        \
        .path = (p), .methods = ROUTE_GET | ROUTE_POST, .start = (s)                                         \
    }
static const struct route *const routes[] = {
    ROUTE("/plain", plain_step),
    ROUTE("/v1/account", plain_step),
    ROUTE("/echo", echo_step),
    ROUTE("/empty", empty_step),
    ROUTE("/big", big_step),
    ROUTE("/fixed", fixed_step),
    ROUTE("/stream", stream_step),
    ROUTE("/abort", abort_step),
    ROUTE("/yield", yield_step),
    ROUTE("/more", more_step),
    ROUTE("/sleep", sleep_step),
    ROUTE("/late", late_step),
    ROUTE("/busy", busy_step),
    ROUTE("/error", error_step),
    ROUTE("/arena", arena_step),
    ROUTE("/hold", hold_step),
    NULL,
};

static void on_free(struct request *r)
{
    app_of(r)->freed++;
}

static void begin(struct request *r)
{
    struct state *s = arena_alloc(&r->arena, sizeof *s);
    unsigned long long n = 0;
    app_of(r)->begun++;
    r->on_free = on_free;
    r->state = s;
    if (r->query.p && str_to_u64(r->query, INT64_MAX, &n))
        s->n = n;
}

static enum next start_step(struct request *r)
{
    begin(r);
    r->step = r->route->start;
    return NEXT_MORE;
}

static enum next no_route_step(struct request *r)
{
    begin(r);
    return text(r, r->res.status, r->route ? STR("not allowed") : STR("not found"));
}

static void copy(char *to, size_t size, struct str s)
{
    (void)snprintf(to, size, "%.*s", (int)s.len, s.p ? s.p : "");
}

static void finish(struct request *r)
{
    struct test_app *app = app_of(r);
    app->finished++;
    app->last_status = r->res.status;
    copy(app->last_id, sizeof app->last_id, r->id);
    copy(app->last_address, sizeof app->last_address, r->client_address);
    copy(app->last_target, sizeof app->last_target, r->target);
    response_add_field(r, STR("X-Request-Id"), r->id);
}

static void reject(struct request *r, const char *message)
{
    r->res.content_type = STR("text/plain");
    buf_append(&r->res.body, str_from_cstr(message));
}

void test_app_init(struct test_app *app, uv_loop_t *loop)
{
    *app = (struct test_app){.loop = loop};
    list_init(&app->late);
    app->http = (struct http_app){
        .ctx = app, .start = start_step, .no_route = no_route_step, .reject = reject, .finish = finish};
    app->router.fallback = &app->http;
    router_mount(&app->router, &(struct mount){.prefix = STR(""), .routes = routes, .app = &app->http});
}

void test_app_fini(struct test_app *app)
{
    while (!list_is_empty(&app->late)) {
        struct call *call = LIST_ENTRY(app->late.next, struct call, link);
        list_remove(&call->link);
        free(call);
    }
}

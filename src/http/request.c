/* The step engine: runs a request's steps and keeps the rules of base/next.h. Knows no socket. */
#include "http/request.h"

#include "base/check.h"
#include "base/clock.h"
#include "http/conn.h"

enum { EXCHANGE_MAGIC = 0x45786368 };

static struct exchange *exchange_of(struct request *r)
{
    struct exchange *x = LIST_ENTRY(r, struct exchange, r);
    CHECK(x->magic == EXCHANGE_MAGIC);
    return x;
}

void request_init(struct exchange *x)
{
    x->magic = EXCHANGE_MAGIC;
    list_init(&x->link);
}

bool request_slice_is_over(int64_t start_us)
{
    return clock_work_us() - start_us > SLICE_US;
}

static void finish(struct exchange *x)
{
    struct request *r = &x->r;
    x->active = false;
    CHECK(!wait_is_armed(&r->wait));
    if (r->on_free)
        r->on_free(r);
    r->on_free = NULL;
    conn_respond(x->conn);
}

static void on_wake(struct wait *w)
{
    struct exchange *x = LIST_ENTRY(w, struct exchange, r.wait);
    CHECK(x->magic == EXCHANGE_MAGIC && x->active && !x->running);
    request_run(&x->r);
}

static enum next run_steps(struct exchange *x)
{
    enum next next;
    x->running = true;
    do {
        CHECK(x->r.step && !wait_is_armed(&x->r.wait));
        next = x->r.step(&x->r);
    } while (next == NEXT_MORE);
    x->running = false;
    return next;
}

void request_run(struct request *r)
{
    struct exchange *x = exchange_of(r);
    CHECK(!x->running);
    if (!x->active) {
        x->active = true;
        r->wait = (struct wait){.wake = on_wake};
    }
    switch (run_steps(x)) {
    case NEXT_DONE: finish(x); break;
    case NEXT_WAIT: CHECK(wait_is_armed(&r->wait)); break;
    case NEXT_YIELD:
        CHECK(!wait_is_armed(&r->wait));
        list_add_last(&x->conn->server->yielded, &x->link);
        server_turn_soon(x->conn->server);
        break;
    case NEXT_MORE: CHECK(!"possible"); break;
    }
}

void request_cancel(struct request *r)
{
    struct exchange *x = exchange_of(r);
    if (!x->active)
        return;
    CHECK(!x->running);
    x->active = false;
    list_remove(&x->link);
    wait_cancel(&r->wait);
    if (r->on_free)
        r->on_free(r);
    r->on_free = NULL;
}

void request_run_yielded(struct http_server *s)
{
    struct list turn;
    list_init(&turn);
    while (!list_is_empty(&s->yielded)) {
        struct list *link = s->yielded.next;
        list_remove(link);
        list_add_last(&turn, link);
    }
    /* A step may close other connections, whose requests then leave `turn` by themselves. */
    while (!list_is_empty(&turn)) {
        struct exchange *x = LIST_ENTRY(turn.next, struct exchange, link);
        list_remove(&x->link);
        request_run(&x->r);
    }
}

/* ---- sleeping ---- */

static void leave_sleep(struct wait *w)
{
    list_remove(&LIST_ENTRY(w, struct exchange, r.wait)->link);
}

enum next request_sleep(struct request *r, int64_t deadline_ms)
{
    struct exchange *x = exchange_of(r);
    CHECK(!wait_is_armed(&r->wait));
    x->wake_ms = deadline_ms;
    list_add_last(&x->conn->server->sleeping, &x->link);
    r->wait.cancel = leave_sleep;
    return NEXT_WAIT;
}

void request_wake(struct request *r)
{
    struct exchange *x = exchange_of(r);
    if (r->wait.cancel != leave_sleep)
        return;
    list_remove(&x->link);
    wait_finish(&r->wait);
}

void request_wake_due(struct http_server *s, int64_t now_ms)
{
    struct list due;
    list_init(&due);
    for (struct list *link = s->sleeping.next, *next; link != &s->sleeping; link = next) {
        next = link->next;
        if (LIST_ENTRY(link, struct exchange, link)->wake_ms > now_ms)
            continue;
        list_remove(link);
        list_add_last(&due, link);
    }
    while (!list_is_empty(&due))
        request_wake(&LIST_ENTRY(due.next, struct exchange, link)->r);
}

/* ---- streaming ---- */

enum next request_flush(struct request *r)
{
    return conn_flush(exchange_of(r)->conn);
}

enum next request_abort(struct request *r, const char *reason)
{
    struct exchange *x = exchange_of(r);
    x->aborted = reason;
    return NEXT_DONE;
}

/* The step engine: runs the steps of requests and CHECKs the rules of base/next.h. */
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

bool request_time_slice_ended(int64_t start_us)
{
    return clock_work_us() - start_us > SLICE_US;
}

const char *request_method_name(enum http_method m)
{
    static const char *const names[] = {[METHOD_GET] = "GET",
                                        [METHOD_HEAD] = "HEAD",
                                        [METHOD_POST] = "POST",
                                        [METHOD_OPTIONS] = "OPTIONS",
                                        [METHOD_OTHER] = "other"};
    return names[m];
}

bool request_lacks_memory(const struct exchange *x)
{
    return x->r.arena.lacks_memory || x->r.res.body.lacks_memory || x->head.lacks_memory ||
           parser_lacks_memory(x->parser);
}

/* ---- ending a request ---- */

static void end(struct exchange *x)
{
    struct request *r = &x->r;
    x->active = x->ready = false;
    if (r->on_free)
        r->on_free(r);
    r->on_free = NULL;
}

/* ---- times of a request ---- */

void request_begin_wait(struct request *r, int64_t *total_us)
{
    const int64_t now_us = clock_work_us();
    request_end_wait(r, now_us);
    r->times.wait_began_us = now_us;
    r->times.wait_total_us = total_us;
}

void request_end_wait(struct request *r, int64_t now_us)
{
    struct request_times *t = &r->times;
    if (t->wait_began_us && now_us > t->wait_began_us)
        *t->wait_total_us += now_us - t->wait_began_us;
    t->wait_began_us = 0;
}

static void cancel_sleep(struct waiter *w);

/* Called when a step has returned NEXT_WAIT. Returns the member of r->times to which the duration of this
 * wait is added. */
static int64_t *time_of_wait(struct exchange *x)
{
    struct request_times *t = &x->r.times;
    if (x->r.wait.cancel == cancel_sleep)
        return &t->asleep_us;
    return x->conn->state == CONN_WRITING ? &t->sending_us : &t->waiting_us;
}

static void make_ready(struct exchange *x)
{
    x->ready = true;
    conn_schedule(x->conn);
}

/* Only schedules the next step. Must not run the step itself, because on_wake() is called in the driver's
 * callback: the step could re-enter the driver, and the steps of a hundred completions would block the
 * loop. */
static void on_wake(struct waiter *w)
{
    struct exchange *x = LIST_ENTRY(w, struct exchange, r.wait);
    CHECK(x->magic == EXCHANGE_MAGIC && x->active && !x->running);
    make_ready(x);
}

/* Runs steps until a step returns a value other than NEXT_MORE, the time slice ends, or the request is out of
 * memory. Returns the value that the last step has returned. */
static enum next run_steps(struct exchange *x)
{
    struct request *r = &x->r;
    int64_t start_us = x->conn->server->work_us;
    enum next next;
    x->running = true;
    do {
        request_step *step = r->step;
        CHECK(step && !waiter_is_armed(&r->wait));
        r->step = NULL;
        next = step(r);
        CHECK(next == NEXT_DONE || r->step);
    } while (next == NEXT_MORE && !request_lacks_memory(x) && !request_time_slice_ended(start_us));
    x->running = false;
    return next;
}

void request_run(struct request *r)
{
    struct exchange *x = exchange_of(r);
    CHECK(!x->running);
    if (!x->active) {
        x->active = true;
        r->wait = (struct waiter){.wake = on_wake};
    }
    x->ready = false;
    request_end_wait(r, x->conn->server->work_us);
    enum next next = run_steps(x);
    CHECK(waiter_is_armed(&r->wait) == (next == NEXT_WAIT));
    if (request_lacks_memory(x)) {
        conn_reject_no_memory(x->conn);
        return;
    }
    if (next == NEXT_WAIT) {
        request_begin_wait(r, time_of_wait(x));
    } else if (next == NEXT_MORE || next == NEXT_YIELD) {
        make_ready(x);
    } else if (next == NEXT_DONE) {
        end(x);
        conn_respond(x->conn);
    }
}

void request_cancel(struct request *r)
{
    struct exchange *x = exchange_of(r);
    if (!x->active)
        return;
    CHECK(!x->running);
    waiter_cancel(&r->wait);
    end(x);
}

/* ---- sleeping ---- */

static void cancel_sleep(struct waiter *w)
{
    list_remove(&LIST_ENTRY(w, struct exchange, r.wait)->link);
}

enum next request_sleep(struct request *r, int64_t deadline_ms)
{
    struct exchange *x = exchange_of(r);
    CHECK(!waiter_is_armed(&r->wait));
    x->wake_ms = deadline_ms;
    list_add_last(&x->conn->server->sleeping, &x->link);
    r->wait.cancel = cancel_sleep;
    server_schedule_tick(x->conn->server, deadline_ms);
    return NEXT_WAIT;
}

void request_wake(struct request *r)
{
    if (r->wait.cancel != cancel_sleep)
        return;
    list_remove(&exchange_of(r)->link);
    waiter_complete(&r->wait);
}

int64_t request_wake_expired(struct http_server *s, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    for (struct list *link = s->sleeping.next, *next; link != &s->sleeping; link = next) {
        struct exchange *x = LIST_ENTRY(link, struct exchange, link);
        next = link->next;
        if (x->wake_ms <= now_ms)
            request_wake(&x->r);
        else if (x->wake_ms < next_ms)
            next_ms = x->wake_ms;
    }
    return next_ms;
}

/* ---- streaming ---- */

enum next request_flush(struct request *r)
{
    return conn_flush(exchange_of(r)->conn);
}

enum next request_abort(struct request *r, const char *reason)
{
    exchange_of(r)->aborted = reason;
    return NEXT_DONE;
}

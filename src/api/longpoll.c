/* Manages the list of waiting requests, and the timer that detects changes. */
#include "api/longpoll.h"

#include "base/check.h"

#include <stdlib.h>

enum { POLL_MS = 100, WAKES_PER_ITERATION = 128 };

struct longpoll {
    uv_timer_t timer;
    struct store_read read;
    struct waiter wait;       /* waiter of `read`; armed during store_find_changes() */
    struct list waiting, due; /* `due`: requests to be woken after a change */
    bool draining;
};

static void on_timer(uv_timer_t *timer);
static void on_found(struct waiter *wait);

struct longpoll *longpoll_new(uv_loop_t *loop, struct store *store)
{
    struct longpoll *l = xcalloc(1, sizeof *l);
    CHECK(uv_timer_init(loop, &l->timer) == 0);
    l->timer.data = l;
    l->wait.wake = on_found;
    l->read = (struct store_read){.store = store, .wait = &l->wait};
    list_init(&l->waiting);
    list_init(&l->due);
    return l;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void longpoll_close(struct longpoll *l)
{
    if (!l)
        return;
    CHECK(list_is_empty(&l->waiting) && list_is_empty(&l->due));
    waiter_cancel(&l->wait);
    uv_close((uv_handle_t *)&l->timer, on_closed);
}

static void make_all_due(struct longpoll *l)
{
    while (!list_is_empty(&l->waiting)) {
        struct list *link = l->waiting.next;
        list_remove(link);
        list_add_last(&l->due, link);
    }
}

static void schedule(struct longpoll *l)
{
    uint64_t delay = !list_is_empty(&l->due) ? 0 : POLL_MS;
    if (list_is_empty(&l->due) && list_is_empty(&l->waiting))
        (void)uv_timer_stop(&l->timer);
    else
        CHECK(uv_timer_start(&l->timer, on_timer, delay, 0) == 0);
}

static void wake_due(struct longpoll *l)
{
    for (int i = 0; i < WAKES_PER_ITERATION && !list_is_empty(&l->due); i++) {
        struct longpoll_wait *w = LIST_ENTRY(l->due.next, struct longpoll_wait, watch.link);
        list_remove(&w->watch.link);
        request_wake(w->request);
    }
    schedule(l);
}

static void on_found(struct waiter *wait)
{
    wake_due(LIST_ENTRY(wait, struct longpoll, wait));
}

/* Finds the requests whose author may have changed, and wakes some of them; the next ticks wake the others
 * before they check again. If the check for changes fails, no request becomes due, and the next tick repeats
 * the check. */
static void on_timer(uv_timer_t *timer)
{
    struct longpoll *l = timer->data;
    if (list_is_empty(&l->due) && store_find_changes(&l->read, &l->waiting, &l->due) == NEXT_WAIT)
        return;
    wake_due(l);
}

static void on_free(struct request *r)
{
    struct longpoll_wait *w = r->on_free_ctx;
    list_remove(&w->watch.link);
}

enum next longpoll_wait(struct longpoll *l, struct longpoll_wait *w, const struct key_owner *owner,
                        struct request *r, int64_t deadline_ms)
{
    const bool first = list_is_empty(&l->waiting) && list_is_empty(&l->due);
    if (w->request)
        list_remove(&w->watch.link); /* still linked unless wake_due() has ended the wait */
    w->request = r;
    w->watch.author_row = owner->author_row;
    w->watch.version = owner->version;
    list_init(&w->watch.link);
    list_add_last(&l->waiting, &w->watch.link);
    r->on_free = on_free;
    r->on_free_ctx = w;
    if (first && !waiter_is_armed(&l->wait))
        schedule(l);
    return request_sleep(r, deadline_ms);
}

void longpoll_drain(struct longpoll *l)
{
    l->draining = true;
    make_all_due(l);
    schedule(l);
}

bool longpoll_is_draining(const struct longpoll *l)
{
    return l->draining;
}

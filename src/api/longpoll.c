/* The list of waiting requests and the timer that detects commits. */
#include "api/longpoll.h"

#include "base/check.h"

#include <stdlib.h>

enum { POLL_MS = 100, WAKES_PER_ITERATION = 128 };

struct longpoll {
    uv_timer_t timer;
    struct store *store;
    struct list waiting, due; /* `due`: requests to be woken after a commit */
    uint64_t seen_version;
    bool draining;
};

static void on_timer(uv_timer_t *timer);

struct longpoll *longpoll_new(uv_loop_t *loop, struct store *store)
{
    struct longpoll *l = xcalloc(1, sizeof *l);
    CHECK(uv_timer_init(loop, &l->timer) == 0);
    l->timer.data = l;
    l->store = store;
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

static bool has_changed(struct longpoll *l)
{
    uint64_t version = store_get_version(l->store);
    bool changed = version != l->seen_version;
    l->seen_version = version;
    return changed;
}

static void schedule(struct longpoll *l)
{
    uint64_t delay = !list_is_empty(&l->due) ? 0 : POLL_MS;
    if (list_is_empty(&l->due) && list_is_empty(&l->waiting))
        (void)uv_timer_stop(&l->timer);
    else
        CHECK(uv_timer_start(&l->timer, on_timer, delay, 0) == 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct longpoll *l = timer->data;
    if (list_is_empty(&l->due) && has_changed(l))
        make_all_due(l);
    for (int i = 0; i < WAKES_PER_ITERATION && !list_is_empty(&l->due); i++) {
        struct longpoll_wait *w = LIST_ENTRY(l->due.next, struct longpoll_wait, link);
        list_remove(&w->link);
        request_wake(w->request);
    }
    schedule(l);
}

static void on_free(struct request *r)
{
    struct longpoll_wait *w = r->on_free_ctx;
    list_remove(&w->link);
}

enum next longpoll_wait(struct longpoll *l, struct longpoll_wait *w, struct request *r, int64_t deadline_ms)
{
    bool first = list_is_empty(&l->waiting) && list_is_empty(&l->due);
    /* While no request waited, the timer did not poll store_get_version(). A commit between this request's
     * read and now would therefore be missed, so wake the request to read once more. */
    bool reads_again = first && !w->request;
    if (reads_again)
        (void)has_changed(l);
    if (w->request)
        list_remove(&w->link); /* still linked, because the last wait ended at its deadline */
    w->request = r;
    list_init(&w->link);
    list_add_last(reads_again ? &l->due : &l->waiting, &w->link);
    r->on_free = on_free;
    r->on_free_ctx = w;
    if (first)
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

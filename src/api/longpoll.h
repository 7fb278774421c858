/* Requests that wait for a commit. One timer looks for new commits (of any process) while anybody waits, and
 * wakes the waiting requests a batch a turn, so that a thousand pollers do not delay anyone else. */
#ifndef VT_API_LONGPOLL_H
#define VT_API_LONGPOLL_H

#include "base/list.h"
#include "http/request.h"
#include "store/store.h"

#include <uv.h>

struct longpoll;

/* In the waiting request's arena, zeroed before its first use. */
struct longpoll_wait {
    struct list link;
    struct request *request;
};

struct longpoll *longpoll_new(uv_loop_t *loop, struct store *store);

/* Nothing may wait any more. Frees itself once its timer is closed. */
void longpoll_close(struct longpoll *l);

/* NEXT_WAIT until something was committed or `deadline_ms` (monotonic) has come; the request's step decides
 * which. Takes r->on_free. */
enum next longpoll_wait(struct longpoll *l, struct longpoll_wait *w, struct request *r, int64_t deadline_ms);

/* The server is about to stop: everyone is woken, and longpoll_is_draining() tells the steps to answer with
 * what there is. */
void longpoll_drain(struct longpoll *l);
bool longpoll_is_draining(const struct longpoll *l);

#endif

/* Long polls: requests that wait for a commit, by any process. While a request waits, a timer polls the
 * store's version; after a commit it wakes the waiters in batches, so that a thousand of them do not delay
 * other requests. */
#ifndef VT_API_LONGPOLL_H
#define VT_API_LONGPOLL_H

#include "base/list.h"
#include "http/request.h"
#include "store/store.h"

#include <uv.h>

struct longpoll;

/* In the arena of the waiting request; zeroed before its first use. */
struct longpoll_wait {
    struct list link;
    struct request *request;
};

struct longpoll *longpoll_new(uv_loop_t *loop, struct store *store);

/* Precondition: no request is waiting. Frees itself when its timer is closed. */
void longpoll_close(struct longpoll *l);

/* Waits until a commit or until `deadline_ms` (monotonic); the request's next step finds out which. It may
 * wait again. Uses r->on_free. */
enum next longpoll_wait(struct longpoll *l, struct longpoll_wait *w, struct request *r, int64_t deadline_ms);

/* Before the server stops: wakes all waiters. From then on longpoll_is_draining() is true, and requests
 * respond with what they have instead of waiting. */
void longpoll_drain(struct longpoll *l);
bool longpoll_is_draining(const struct longpoll *l);

#endif

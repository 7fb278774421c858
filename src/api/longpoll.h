/* Long polls: requests that wait until any process commits to the database. While at least one request waits,
 * a timer polls store_get_version(). After a commit, the timer wakes the waiting requests in batches, so that
 * a thousand waiting requests do not delay other requests. */
#ifndef VT_API_LONGPOLL_H
#define VT_API_LONGPOLL_H

#include "base/list.h"
#include "http/request.h"
#include "store/store.h"

#include <uv.h>

struct longpoll;

/* One waiting request. Allocate the struct in the request's arena, and zero it before its first use. */
struct longpoll_wait {
    struct list link;
    struct request *request;
};

/* Creates the list of waiting requests and its timer. Never returns NULL. Free with longpoll_close(). */
struct longpoll *longpoll_new(uv_loop_t *loop, struct store *store);

/* Closes the timer; `l` is freed when the loop has closed it. Precondition: no request is waiting. NULL is
 * ignored. */
void longpoll_close(struct longpoll *l);

/* Makes the request wait for a commit, at most until `deadline_ms` (monotonic time). Return the value of
 * this function from the current step. The next step must check whether there is new data, and may wait
 * again. Sets r->on_free. */
enum next longpoll_wait(struct longpoll *l, struct longpoll_wait *w, struct request *r, int64_t deadline_ms);

/* Wakes all waiting requests. Call before the server stops. Afterwards longpoll_is_draining() returns true;
 * requests must then respond at once instead of waiting. */
void longpoll_drain(struct longpoll *l);
bool longpoll_is_draining(const struct longpoll *l);

#endif

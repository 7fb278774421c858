/* Long polls: requests that wait for a change of their author. While at least one request waits, a timer
 * calls store_find_changes(). The requests whose author may have changed are woken in batches, so that a
 * thousand of them do not delay other requests. */
#ifndef VT_API_LONGPOLL_H
#define VT_API_LONGPOLL_H

#include "base/list.h"
#include "http/request.h"
#include "store/read.h"

#include <uv.h>

struct longpoll;

/* One waiting request. Allocate the struct in the request's arena, and zero it before its first use. */
struct longpoll_wait {
    struct author_watch watch;
    struct request *request;
};

/* Creates the list of waiting requests and its timer. Never returns NULL. Free with longpoll_close(). */
struct longpoll *longpoll_new(uv_loop_t *loop, struct store *store);

/* Closes the timer; `l` is freed when the loop has closed it. Precondition: no request is waiting. NULL is
 * ignored. */
void longpoll_close(struct longpoll *l);

/* Makes the request wait for a change of the author, at most until `deadline_ms` (monotonic time). `owner` is
 * the result of the request's most recent store_resolve_key(). The request must call store_resolve_key()
 * before it reads the author's data; otherwise a change between the two calls would be missed. Return the
 * value of this function from the current step. The next step must resolve the key again and check whether
 * there is new data, and may wait again. Sets r->on_free. */
enum next longpoll_wait(struct longpoll *l, struct longpoll_wait *w, const struct key_owner *owner,
                        struct request *r, int64_t deadline_ms);

/* Wakes all waiting requests. Call before the server stops. Afterwards longpoll_is_draining() returns true;
 * requests must then respond immediately instead of waiting. */
void longpoll_drain(struct longpoll *l);
bool longpoll_is_draining(const struct longpoll *l);

#endif

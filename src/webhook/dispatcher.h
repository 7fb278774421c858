/* Delivers events to webhook endpoints. dispatcher_run() needs a thread of its own, opens a loop and a
 * database connection, and blocks until the thread's owner stops it.
 *
 * Each process has a dispatcher, which checks once a second whether a commit or the end of a pause has made
 * an endpoint due. The first dispatcher that finds a due endpoint acquires the lease `webhooks` for its
 * process, delivers until no endpoint is due, and releases the lease.
 *
 * An endpoint has at most one delivery in flight, so its events arrive in order, and a slow endpoint delays
 * no other. The dispatcher commits the result of a delivery and the endpoint's new position before it sends
 * the next event of the endpoint. So after a crash, only deliveries that were in flight can be repeated.
 *
 * The number of deliveries in flight is limited, also per origin. A delivery for which no slot
 * (webhook/send_queue.h) is free starts as soon as the end of another delivery frees one. */
#ifndef VT_WEBHOOK_DISPATCHER_H
#define VT_WEBHOOK_DISPATCHER_H

#include "config/config.h"

#include <stdatomic.h>
#include <stdint.h>
#include <uv.h>

struct ticket_lock;

/* Counters of this process. Other threads may read them. */
struct dispatcher_counts {
    atomic_uint_fast64_t delivered, failed, gone;
    atomic_int in_flight;
    atomic_bool has_lease;
};

struct dispatcher_options {
    const struct config *config;    /* must not change while the dispatcher runs */
    struct ticket_lock *write_lock; /* the write lock of the process */
    struct dispatcher_counts *counts;
    /* Memory for a handle, which the dispatcher initializes on its loop. To stop the dispatcher, another
     * thread calls uv_async_send() with this handle, once. The dispatcher stops only in the callback, so it
     * never closes the handle while the other thread is still sending. */
    uv_async_t *stop;
};

/* Opens the database and delivers until it is stopped. Then waits at most five seconds for the deliveries in
 * flight. Calls `opened` as soon as other threads may use `stop`. If the database cannot be opened, logs the
 * reason and tries again every second. */
void dispatcher_run(const struct dispatcher_options *options, void (*opened)(void *ctx), void *ctx);

#endif

/* Runs the webhook dispatcher of a server process on a separate thread. */
#ifndef VT_WEBHOOK_WEBHOOK_SERVICE_H
#define VT_WEBHOOK_WEBHOOK_SERVICE_H

#include "webhook/dispatcher.h"

struct webhook_service;

/* Starts the thread. `write_lock` is the lock of the writer queue; it must live until the service is closed.
 * The service copies `config`, so later changes have no effect. */
struct webhook_service *webhook_service_open(uv_loop_t *loop, const struct config *config,
                                             struct ticket_lock *write_lock);

/* Stops starting deliveries and waits at most five seconds for the deliveries in flight, without blocking the
 * caller. Then calls `closed` once on the loop, never before this function has returned. */
void webhook_service_close(struct webhook_service *s, void (*closed)(void *ctx), void *ctx);

const struct dispatcher_counts *webhook_service_counts(const struct webhook_service *s);

#endif

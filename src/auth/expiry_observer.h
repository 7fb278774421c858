/* Observes the wall clock and updates the expiry floor (base/expiry_floor.h) in the database: once at the
 * start, then once per minute of monotonic time. Each update is a job of the writer. */
#ifndef VT_AUTH_EXPIRY_OBSERVER_H
#define VT_AUTH_EXPIRY_OBSERVER_H

#include "store/writer.h"

#include <uv.h>

struct expiry_observer;

/* Starts to observe. The timer does not keep the loop alive. */
struct expiry_observer *expiry_observer_new(uv_loop_t *loop, struct writer *writer);

/* Stops observing. Call before the writer closes. `o` may be NULL. */
void expiry_observer_close(struct expiry_observer *o);

/* Frees the observer. Call after the loop has ended. `o` may be NULL. */
void expiry_observer_free(struct expiry_observer *o);

#endif

/* Observes the wall clock for the floor of expiry (base/expiry_floor.h): at the start, then once per minute
 * of monotonic time. Each observation is a writer job. */
#ifndef VT_AUTH_EXPIRY_OBSERVER_H
#define VT_AUTH_EXPIRY_OBSERVER_H

#include "store/writer.h"

#include <uv.h>

struct expiry_observer;

/* Does not keep the loop running. */
struct expiry_observer *expiry_observer_new(uv_loop_t *loop, struct writer *writer);
/* Call before the writer closes. NULL is allowed. */
void expiry_observer_close(struct expiry_observer *o);
/* Call after the loop has ended. NULL is allowed. */
void expiry_observer_free(struct expiry_observer *o);

#endif

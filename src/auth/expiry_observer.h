/* Observes the wall clock for the floor of expiry (base/expiry_floor.h): at start, then once a minute of
 * monotonic time. Each observation is a job of the writer. */
#ifndef VT_AUTH_EXPIRY_KEEPER_H
#define VT_AUTH_EXPIRY_KEEPER_H

#include "store/writer.h"

#include <uv.h>

struct expiry_observer;

/* Does not keep the loop alive. */
struct expiry_observer *expiry_observer_new(uv_loop_t *loop, struct writer *writer);
/* Before the writer closes. NULL is harmless. */
void expiry_observer_close(struct expiry_observer *k);
/* After the loop has ended. NULL is harmless. */
void expiry_observer_free(struct expiry_observer *k);

#endif

/* A short-lived event loop with a connection to the configured Redis. The whole session is limited to one
 * second. */
#ifndef VT_CLI_REDIS_SESSION_H
#define VT_CLI_REDIS_SESSION_H

#include "config/config.h"
#include "limit/scripts.h"

struct redis_session {
    uv_loop_t loop;
    uv_timer_t deadline;
    struct redis_probes probes;
    struct redis *redis;
    struct waiter waiter; /* for one call at a time */
    bool timed_out;
    const struct config *config;
};

/* Connects and waits until Redis is up or unavailable. `s` must be zeroed and must not move. If Redis is
 * unavailable, returns OK, and later calls fail. Returns an error if the configuration is invalid; in this
 * case do not close the session. */
MUST_USE enum err redis_session_open(struct redis_session *s, const struct config *c, struct error *error);

/* Runs the loop until s->waiter has completed. If the session has lasted a second, cancels the waiter
 * instead. */
void redis_session_wait(struct redis_session *s);

/* Closes the connection and the loop. Precondition: no call is waiting. */
void redis_session_close(struct redis_session *s);

#endif

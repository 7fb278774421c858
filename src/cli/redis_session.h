/* A short-lived event loop with a connection to the configured Redis. The whole session may take a second. */
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

/* Connects. `s` must be zeroed and must not move. Redis may be unavailable afterwards: calls then fail. If
 * the configuration is invalid, returns an error, and there is nothing to close. */
MUST_USE enum err redis_session_open(struct redis_session *s, const struct config *c, struct error *error);

/* Runs the loop until the waiter has completed; cancels the waiter once the session has taken a second. */
void redis_session_wait(struct redis_session *s);

/* Precondition: no call has a waiter. */
void redis_session_close(struct redis_session *s);

#endif

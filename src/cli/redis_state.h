/* Checks whether the configured Redis can be used, for commands that report this. */
#ifndef VT_CLI_REDIS_STATE_H
#define VT_CLI_REDIS_STATE_H

#include "config/config.h"

struct redis_state {
    bool is_configured, is_up;
    char reason[512]; /* why Redis is not up */
};

/* Connects to the configured Redis and runs the same probes as `viewtally serve`. Takes at most a second. */
void redis_state_read(struct redis_state *s, const struct config *c);

/* Append the state: redis_state_json() as the member "redis" of a JSON object, redis_state_text() as a line
 * of text. redis_state_text() appends nothing if Redis is not configured. */
void redis_state_json(const struct redis_state *s, struct buf *b);
void redis_state_text(const struct redis_state *s, struct buf *b);

#endif

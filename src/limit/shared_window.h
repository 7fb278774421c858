/* Reads and resets the window of an API key in Redis, for operators. The limiter does not use this module. */
#ifndef VT_LIMIT_SHARED_WINDOW_H
#define VT_LIMIT_SHARED_WINDOW_H

#include "limit/scripts.h"

struct shared_window {
    int64_t admitted;     /* requests in the last 60 s */
    int64_t remaining;    /* further requests that would be admitted now */
    int64_t next_slot_ms; /* time until the oldest of the newest `limit` requests leaves the window; 0 if
                             `admitted` is 0 */
};

/* The data of one call; must stay valid while the waiter is armed. */
struct shared_window_call {
    struct redis_result result;
    int limit;
    int64_t integers[2];
};

/* Reads the window, and then deletes it if `reset`. Returns NEXT_MORE if Redis is unavailable, else
 * NEXT_WAIT. In both cases, call shared_window_get() afterwards. */
enum next shared_window_load(struct redis *redis, const char *key_prefix, const struct uuid *key_id,
                             int limit, bool reset, struct waiter *w, struct shared_window_call *call);

/* Sets `*out` to the window, as it was before a reset. Returns false if Redis is unavailable or late, or if
 * its reply is not a window. */
MUST_USE bool shared_window_get(const struct shared_window_call *call, struct shared_window *out);

#endif

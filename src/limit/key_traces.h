/* Deletes the data about API keys in Redis: windows and poll positions. Used by `viewtally author erase`. */
#ifndef VT_LIMIT_KEY_TRACES_H
#define VT_LIMIT_KEY_TRACES_H

#include "limit/scripts.h"

enum { KEY_TRACES_MAX = 50 };

/* The data of one call. It must stay valid while the waiter is armed. */
struct key_traces_call {
    struct redis_result result;
    char names[2 * KEY_TRACES_MAX][REDIS_KEY_MAX];
};

/* Deletes the Redis keys of up to KEY_TRACES_MAX API keys. Returns NEXT_MORE if Redis is unavailable or if
 * out of memory, else NEXT_WAIT. When the call has completed, call->result.ok is true if the Redis keys were
 * deleted. */
enum next key_traces_delete(struct redis *redis, const char *key_prefix, const struct uuid *key_ids,
                            int count, struct waiter *w, struct key_traces_call *call);

#endif

/* Deletes Redis keys with one call of SCRIPT_DELETE. */
#include "limit/key_traces.h"

#include "base/check.h"

enum next key_traces_delete(struct redis *redis, const char *key_prefix, const struct uuid *key_ids,
                            int count, struct waiter *w, struct key_traces_call *call)
{
    struct redis_key_family windows, polls;
    struct str args[2 * KEY_TRACES_MAX];
    CHECK(count > 0 && count <= KEY_TRACES_MAX);
    redis_key_family_init(&windows, key_prefix, LIMIT_KEYS);
    redis_key_family_init(&polls, key_prefix, POLL_KEYS);
    call->result = (struct redis_result){.ok = false};
    for (int i = 0; i < count; i++) {
        args[2 * i] = redis_key_format(&windows, &key_ids[i], call->names[2 * i]);
        args[2 * i + 1] = redis_key_format(&polls, &key_ids[i], call->names[2 * i + 1]);
    }
    return redis_call(redis, SCRIPT_DELETE, args, 2 * count, 2 * count, w, &call->result);
}

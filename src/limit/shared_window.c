/* Reads and resets a window with one call of SCRIPT_SHOW_WINDOW. */
#include "limit/shared_window.h"

#include "base/number.h"

enum next shared_window_load(struct redis *redis, const char *key_prefix, const struct uuid *key_id,
                             int limit, bool reset, struct waiter *w, struct shared_window_call *call)
{
    struct redis_key_family keys;
    char name[REDIS_KEY_MAX], number[I64_TEXT_MAX];
    redis_key_family_init(&keys, key_prefix, LIMIT_KEYS);
    const struct str args[] = {redis_key_format(&keys, key_id, name),
                               str_make(number, i64_format(limit, number)), reset ? STR("1") : STR("0")};
    *call = (struct shared_window_call){.limit = limit};
    call->result = (struct redis_result){.integers = call->integers, .room = 2};
    return redis_call(redis, SCRIPT_SHOW_WINDOW, args, 1, 3, w, &call->result);
}

bool shared_window_get(const struct shared_window_call *call, struct shared_window *out)
{
    if (!call->result.ok || call->result.count != 2)
        return false;
    const int64_t admitted = call->integers[0];
    *out = (struct shared_window){.admitted = admitted,
                                  .remaining = admitted < call->limit ? call->limit - admitted : 0,
                                  .next_slot_ms = call->integers[1]};
    return true;
}

/* Sends commands to the configured Redis one after the other and returns the replies as text, for `viewtally
 * doctor`. */
#ifndef VT_REDIS_REDIS_INSPECTION_H
#define VT_REDIS_REDIS_INSPECTION_H

#include "base/buf.h"
#include "redis/redis.h"

enum { REDIS_INSPECTED_WORDS_MAX = 8 };

struct redis_inspected {
    /* Set by the caller. */
    int count;
    struct str words[REDIS_INSPECTED_WORDS_MAX];
    /* The result. An array is one element per line, an integer is decimal, nil is empty. */
    bool has_reply, is_error;
    struct buf reply; /* initialized by the caller */
    int64_t took_us;
};

/* Connects, logs in and sends the commands. Takes ownership of `options`. Blocks for at most `timeout_ms`,
 * but longer if the lookup of the host name, which cannot be canceled, takes longer. On
 * failure, returns ERR_IO and sets `*failure` and `error`; the commands before the failure have their
 * replies. */
MUST_USE enum err redis_inspect(struct redis_options *options, struct redis_inspected *commands, int count,
                                int timeout_ms, enum redis_failure *failure, struct error *error);

#endif

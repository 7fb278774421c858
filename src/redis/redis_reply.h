/* What is read from a reply of Redis. */
#ifndef VT_REDIS_REDIS_REPLY_H
#define VT_REDIS_REDIS_REPLY_H

#include "redis/redis.h"

struct redisReply;

/* Copies an array of integers to `out`. False if `reply` is NULL, something else, or has more elements than
 * `out` has room for. */
MUST_USE bool redis_reply_integers(const struct redisReply *reply, struct redis_result *out);

#endif

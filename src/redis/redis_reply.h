/* Reads replies of Redis. In all functions `reply` may be NULL, which matches no type. */
#ifndef VT_REDIS_REDIS_REPLY_H
#define VT_REDIS_REDIS_REPLY_H

#include "redis/redis.h"

struct redisReply;

/* The text of an error reply; NULL if the reply is not an error. */
const char *redis_reply_error(const struct redisReply *reply);

bool redis_reply_is_array(const struct redisReply *reply);

/* p == NULL if the reply is not a bulk string. */
struct str redis_reply_string(const struct redisReply *reply);

/* Copies an array of integers to `out`. Returns false for any other reply, and if `out` has too little room.
 */
MUST_USE bool redis_reply_integers(const struct redisReply *reply, struct redis_result *out);

#endif

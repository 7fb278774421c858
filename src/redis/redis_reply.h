/* Reads replies of Redis. In all functions, `reply` may be NULL, which is treated as a reply of an unexpected
 * type. */
#ifndef VT_REDIS_REDIS_REPLY_H
#define VT_REDIS_REDIS_REPLY_H

#include "base/buf.h"
#include "redis/redis.h"

struct redisReply;

/* Returns the text of an error reply, or NULL if the reply is not an error. */
const char *redis_reply_error(const struct redisReply *reply);

/* Returns true if the reply is an array. */
bool redis_reply_is_array(const struct redisReply *reply);

/* Returns the content of a bulk string. p == NULL if the reply has another type. */
struct str redis_reply_string(const struct redisReply *reply);

/* Copies an array of integers to `out`. Returns false if the reply has another type or more than out->room
 * integers. */
MUST_USE bool redis_reply_integers(const struct redisReply *reply, struct redis_result *out);

/* Appends the reply as text: an array as one element per line, an integer in decimal, nil as nothing. */
void redis_reply_append(const struct redisReply *reply, struct buf *out);

#endif

/* hiredis frees a reply when its callback returns, so integers are copied. */
#include "redis/redis_reply.h"

#include <hiredis/hiredis.h>

const char *redis_reply_error(const struct redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ERROR ? reply->str : NULL;
}

bool redis_reply_is_array(const struct redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ARRAY;
}

struct str redis_reply_string(const struct redisReply *reply)
{
    if (!reply || reply->type != REDIS_REPLY_STRING)
        return (struct str){NULL, 0};
    return str_make(reply->str, reply->len);
}

bool redis_reply_integers(const struct redisReply *reply, struct redis_result *out)
{
    if (!redis_reply_is_array(reply) || reply->elements > out->room)
        return false;
    for (size_t i = 0; i < reply->elements; i++) {
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
        out->integers[i] = reply->element[i]->integer;
    }
    out->count = reply->elements;
    return true;
}

void redis_reply_append(const struct redisReply *reply, struct buf *out)
{
    if (!reply)
        return;
    switch (reply->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR: buf_append(out, str_make(reply->str, reply->len)); break;
    case REDIS_REPLY_INTEGER: buf_append_i64(out, reply->integer); break;
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < reply->elements; i++) {
            if (i)
                buf_append_char(out, '\n');
            redis_reply_append(reply->element[i], out);
        }
        break;
    default: break;
    }
}

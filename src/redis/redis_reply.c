/* See reply.h. */
#include "redis/redis_reply.h"

#include <hiredis/hiredis.h>

bool redis_reply_integers(const struct redisReply *reply, struct redis_result *out)
{
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements > out->room)
        return false;
    for (size_t i = 0; i < reply->elements; i++) {
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
        out->integers[i] = reply->element[i]->integer;
    }
    out->count = reply->elements;
    return true;
}

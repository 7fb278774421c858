/* The limiter's questions to Redis: those of one turn of the loop go as one call of the script; where one
 * key asks several times, as one call behind the other. Knows the script and the names of what it keeps, and
 * no window. */
#ifndef VT_LIMIT_LIMIT_BATCH_H
#define VT_LIMIT_LIMIT_BATCH_H

#include "redis/redis.h"

struct takes;

/* As the script answers. */
struct take_answer {
    bool ok; /* false: not up, late, an error */
    int64_t admitted, remaining, reset_ms;
};

/* What was answered of one key. */
struct taken {
    int64_t key;
    struct take_answer answer;
};
enum { TAKES_MAX = 64 }; /* in one call */

/* Hears each call's answers before those who asked: also of requests that have left meanwhile. It was sent
 * not before `asked_ms` (monotonic). */
typedef void takes_heard(void *ctx, const struct taken *taken, int count, int64_t asked_ms);

/* `key_prefix` must live as long. Takes redis_set_before_wait(). */
struct takes *takes_new(struct redis *redis, const char *key_prefix, takes_heard *heard, void *ctx);

/* Before redis_close(). What is under way is given up; nobody may wait for it any more. NULL is harmless. */
void takes_free(struct takes *t);

/* Counts a request of `key` if fewer than `limit` were counted in the last minute. NEXT_MORE with ok = false
 * when Redis is not up; else NEXT_WAIT: `w` is woken with `*out` filled REDIS_DEADLINE_MS after this turn of
 * the loop, or earlier. A request that leaves meanwhile is counted. */
enum next takes_ask(struct takes *t, int64_t key, int limit, struct wait *w, struct take_answer *out);

#endif

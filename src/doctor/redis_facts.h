/* Facts about the configured Redis, for `viewtally doctor`. No command that is sent changes Redis: a command
 * that could write is incomplete or names a key that does not exist, so Redis checks the permission and then
 * rejects or ignores the command. */
#ifndef VT_DOCTOR_REDIS_FACTS_H
#define VT_DOCTOR_REDIS_FACTS_H

#include "config/config.h"
#include "redis/redis.h"

enum { REDIS_FACTS_TEXT_MAX = 512 };

struct redis_facts {
    bool is_configured;
    bool is_connected; /* Redis has accepted the connection and the login */
    enum redis_failure failure;
    char reason[REDIS_FACTS_TEXT_MAX];  /* why it is not connected */
    char missing[REDIS_FACTS_TEXT_MAX]; /* missing permissions as in an ACL, such as " +mget +del"; "" if none
                                         */
    char rejected[REDIS_FACTS_TEXT_MAX]; /* first other error of a command ("READONLY …"); "" if none */
    bool has_info;                       /* version, policy and max_memory are known */
    char version[32], policy[32];        /* "7.0.15", "noeviction" */
    long long max_memory;                /* bytes; 0: unlimited */
    int64_t latency_us;                  /* median time of a command; 0 if not connected */
    bool has_time;                       /* ahead_ms is known */
    int64_t ahead_ms;                    /* how far the Redis clock is ahead of the clock of this machine */
};

/* Connects and reads the facts; takes at most two seconds. Free them with redis_facts_free(). */
struct redis_facts *redis_facts_read(const struct config *c);
void redis_facts_free(const struct redis_facts *facts);

/* Reads the value of a field such as "redis_version" from the reply of INFO into `out`, as a C string.
 * Returns false if the field is missing. */
bool redis_facts_find(struct str info, const char *field, char *out, size_t size);

#endif

/* The Lua scripts that Redis runs for us, in one list, so that whoever connects has them all. */
#ifndef VT_LIMIT_SCRIPTS_H
#define VT_LIMIT_SCRIPTS_H

#include "redis/redis.h"

enum redis_script { SCRIPT_LIMIT, SCRIPT_RECORD_POLLS, SCRIPT_LOAD_POLLS };

/* For redis_new(). */
extern const char *const redis_scripts[];

/* Each script once, on keys of the probe's own; `key_prefix` is at most 64 bytes long. */
enum { REDIS_PROBES = 3 };
struct redis_probes {
    struct redis_probe probes[REDIS_PROBES];
    char names[REDIS_PROBES][96];
};
void redis_probes_init(struct redis_probes *p, const char *key_prefix);

#endif

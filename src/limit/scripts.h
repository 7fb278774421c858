/* The Lua scripts that run in Redis, and the names of the keys that they use.
 *
 * All keys have the hash tag {limit}, so that in a Redis cluster they are on one node and one script call may
 * use any of them. Redirects (MOVED, ASK) are not followed: they are error replies, after which Redis counts
 * as unavailable. */
#ifndef VT_LIMIT_SCRIPTS_H
#define VT_LIMIT_SCRIPTS_H

#include "base/uuid.h"
#include "redis/redis.h"

enum redis_script { SCRIPT_LIMIT, SCRIPT_SHOW_WINDOW, SCRIPT_RECORD_POLLS, SCRIPT_LOAD_POLLS, SCRIPT_DELETE };

/* The Lua sources, in the order of enum redis_script, for redis_new(). */
extern const char *const redis_scripts[];

/* The probes for redis_new(): one call of each script that a viewtally server uses, with Redis keys that
 * belong to no API key. `key_prefix` has at most 64 bytes and is copied. */
enum { REDIS_PROBES = 3, REDIS_KEY_MAX = 128 };
struct redis_probes {
    struct redis_probe probes[REDIS_PROBES];
    char limit_key[REDIS_KEY_MAX], poll_key[REDIS_KEY_MAX];
};

/* Fills in the probes. They point into `p`, so do not copy the struct. */
void redis_probes_init(struct redis_probes *p, const char *key_prefix);

/* The name of a Redis key consists of the key prefix, the family, and the UUID of the API key. */
#define LIMIT_KEYS "{limit}:"      /* key family of the windows; each key stores a Redis string */
#define POLL_KEYS  "{limit}:poll:" /* key family of the poll positions; each key stores a Redis hash */
struct redis_key_family {
    size_t len;
    char text[REDIS_KEY_MAX - UUID_TEXT_LEN];
};
/* Initializes a family of Redis keys from the key prefix and the family's name. */
void redis_key_family_init(struct redis_key_family *f, const char *key_prefix, const char *family);

/* Formats the name of a Redis key into `out` and returns it. */
struct str redis_key_format(const struct redis_key_family *f, const struct uuid *key_id,
                            char out[REDIS_KEY_MAX]);

#endif

/* The Lua scripts that run in Redis, and the names of the keys that they use.
 *
 * All keys share the hash tag {limit}, so that one script call may name any of them on a node of a Redis
 * cluster. A redirect (MOVED, ASK) is an error reply: Redis counts as unavailable then. */
#ifndef VT_LIMIT_SCRIPTS_H
#define VT_LIMIT_SCRIPTS_H

#include "base/uuid.h"
#include "redis/redis.h"

enum redis_script { SCRIPT_LIMIT, SCRIPT_SHOW_WINDOW, SCRIPT_RECORD_POLLS, SCRIPT_LOAD_POLLS };

/* For redis_new(). */
extern const char *const redis_scripts[];

/* The probes call each script that the server uses once, on keys that belong to no API key. The key prefix is
 * at most 64 bytes long. */
enum { REDIS_PROBES = 3, REDIS_KEY_MAX = 128 };
struct redis_probes {
    struct redis_probe probes[REDIS_PROBES];
    char limit_key[REDIS_KEY_MAX], poll_key[REDIS_KEY_MAX];
};
void redis_probes_init(struct redis_probes *p, const char *key_prefix);

/* Names of Redis keys: key prefix, `family`, UUID of the API key. */
#define LIMIT_KEYS "{limit}:"      /* strings: windows */
#define POLL_KEYS  "{limit}:poll:" /* hashes: poll positions */
struct redis_key_family {
    size_t len;
    char text[REDIS_KEY_MAX - UUID_TEXT_LEN];
};
void redis_key_family_init(struct redis_key_family *f, const char *key_prefix, const char *family);
struct str redis_key_format(const struct redis_key_family *f, const struct uuid *key_id,
                            char out[REDIS_KEY_MAX]);

#endif

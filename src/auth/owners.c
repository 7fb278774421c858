/* A table of fixed size in sets of two: the older of a set gives way. The hashes are SHA-256, so their first
 * bytes are as good an index as any. */
#include "auth/owners.h"

#include "base/check.h"

#include <stdlib.h>

enum { SETS = 16384, WAYS = 2 };

struct known {
    uint8_t hash[KEY_HASH_LEN];
    uint64_t version; /* 0: free */
    struct key_owner owner;
};

struct owners {
    struct known sets[SETS][WAYS];
};

struct owners *owners_new(void)
{
    return xcalloc(1, sizeof(struct owners)); /* fresh pages: they take memory when they are written */
}

void owners_free(struct owners *o)
{
    free(o);
}

static size_t set_of(const uint8_t hash[KEY_HASH_LEN])
{
    return ((size_t)hash[0] << 8 | hash[1]) % SETS;
}

bool owners_get(const struct owners *o, const uint8_t hash[KEY_HASH_LEN], uint64_t version,
                struct key_owner *out)
{
    const struct known *set = o->sets[set_of(hash)];
    for (int i = 0; i < WAYS; i++)
        if (set[i].version == version && memcmp(set[i].hash, hash, KEY_HASH_LEN) == 0) {
            *out = set[i].owner;
            return true;
        }
    return false;
}

void owners_put(struct owners *o, const uint8_t hash[KEY_HASH_LEN], uint64_t version,
                const struct key_owner *owner)
{
    struct known *set = o->sets[set_of(hash)], *to = &set[0];
    for (int i = 0; i < WAYS; i++)
        if (memcmp(set[i].hash, hash, KEY_HASH_LEN) == 0) {
            to = &set[i];
            break;
        } else if (set[i].version < to->version) {
            to = &set[i];
        }
    memcpy(to->hash, hash, KEY_HASH_LEN);
    to->version = version;
    to->owner = *owner;
}

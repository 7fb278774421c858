/* A table of fixed size in sets of four: the oldest of a set gives way. The first bytes of a tag are as good
 * an index as any. */
#include "auth/key_cache.h"

#include "base/check.h"

#include <sodium.h>
#include <stdlib.h>

enum { SETS = 16384, WAYS = 4 };

/* What is compared stands together: a look-up touches two lines of memory, and the owner's. */
struct set {
    uint8_t tags[WAYS][KEY_TAG_LEN];
    uint64_t versions[WAYS]; /* 0: free */
    struct key_owner owners[WAYS];
};

struct key_cache {
    unsigned char secret[crypto_shorthash_siphashx24_KEYBYTES];
    struct set sets[SETS];
};

struct key_cache *key_cache_new(void)
{
    struct key_cache *o = xcalloc(1, sizeof *o); /* fresh pages: they take memory when they are written */
    randombytes_buf(o->secret, sizeof o->secret);
    return o;
}

void key_cache_free(struct key_cache *o)
{
    free(o);
}

static size_t set_of(const uint8_t tag[KEY_TAG_LEN])
{
    return ((size_t)tag[0] << 8 | tag[1]) % SETS;
}

void key_cache_tag(const struct key_cache *o, struct str key, uint8_t tag[KEY_TAG_LEN])
{
    CHECK(crypto_shorthash_siphashx24(tag, (const unsigned char *)key.p, key.len, o->secret) == 0);
}

bool key_cache_lookup(const struct key_cache *o, const uint8_t tag[KEY_TAG_LEN], uint64_t version,
                      struct key_owner *out)
{
    const struct set *set = &o->sets[set_of(tag)];
    for (int i = 0; i < WAYS; i++)
        if (set->versions[i] == version && memcmp(set->tags[i], tag, KEY_TAG_LEN) == 0) {
            *out = set->owners[i];
            return true;
        }
    return false;
}

void key_cache_store(struct key_cache *o, const uint8_t tag[KEY_TAG_LEN], uint64_t version,
                     const struct key_owner *owner)
{
    struct set *set = &o->sets[set_of(tag)];
    int to = 0;
    for (int i = 0; i < WAYS; i++)
        if (memcmp(set->tags[i], tag, KEY_TAG_LEN) == 0) {
            to = i;
            break;
        } else if (set->versions[i] < set->versions[to]) {
            to = i;
        }
    memcpy(set->tags[to], tag, KEY_TAG_LEN);
    set->versions[to] = version;
    set->owners[to] = *owner;
}

/* A set-associative table of fixed size; the oldest entry of a set is evicted. The first bytes of a tag
 * select the set. */
#include "auth/key_cache.h"

#include "base/check.h"

#include <sodium.h>
#include <stdlib.h>

enum { SETS = 16384, WAYS = 4 };

/* The tags that a lookup compares are adjacent, so that they are in few cache lines. */
struct key_set {
    uint8_t tags[WAYS][KEY_TAG_LEN];
    uint64_t stored_at[WAYS]; /* value of key_cache.clock; 0 if the entry is free */
    struct known_key keys[WAYS];
};

struct key_cache {
    unsigned char secret[crypto_shorthash_siphashx24_KEYBYTES];
    uint64_t clock; /* counts the calls of key_cache_store() */
    struct key_set sets[SETS];
};

struct key_cache *key_cache_new(void)
{
    struct key_cache *c = xcalloc(1, sizeof *c); /* a page uses no memory until it is written */
    randombytes_buf(c->secret, sizeof c->secret);
    return c;
}

void key_cache_free(struct key_cache *c)
{
    free(c);
}

static size_t set_index(const uint8_t tag[KEY_TAG_LEN])
{
    return ((size_t)tag[0] << 8 | tag[1]) % SETS;
}

void key_cache_compute_tag(const struct key_cache *c, struct str key, uint8_t tag[KEY_TAG_LEN])
{
    CHECK(crypto_shorthash_siphashx24(tag, (const unsigned char *)key.p, key.len, c->secret) == 0);
}

bool key_cache_lookup(const struct key_cache *c, const uint8_t tag[KEY_TAG_LEN], struct known_key *out)
{
    const struct key_set *set = &c->sets[set_index(tag)];
    for (int i = 0; i < WAYS; i++)
        if (set->stored_at[i] && memcmp(set->tags[i], tag, KEY_TAG_LEN) == 0) {
            *out = set->keys[i];
            return true;
        }
    return false;
}

/* Returns the index of the entry with this tag, or else of the oldest entry of the set. */
static int find_index(const struct key_set *set, const uint8_t tag[KEY_TAG_LEN])
{
    int oldest = 0;
    for (int i = 0; i < WAYS; i++) {
        if (memcmp(set->tags[i], tag, KEY_TAG_LEN) == 0)
            return i;
        if (set->stored_at[i] < set->stored_at[oldest])
            oldest = i;
    }
    return oldest;
}

void key_cache_store(struct key_cache *c, const uint8_t tag[KEY_TAG_LEN], const struct known_key *key)
{
    struct key_set *set = &c->sets[set_index(tag)];
    const int i = find_index(set, tag);
    memcpy(set->tags[i], tag, KEY_TAG_LEN);
    set->stored_at[i] = ++c->clock;
    set->keys[i] = *key;
}

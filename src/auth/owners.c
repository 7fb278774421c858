/* A table of fixed size in sets of two: the older of a set gives way. The first bytes of a tag are as good an
 * index as any. */
#include "auth/owners.h"

#include "base/check.h"

#include <sodium.h>
#include <stdlib.h>

enum { SETS = 16384, WAYS = 2 };

struct known {
    uint8_t tag[OWNERS_TAG_LEN];
    uint64_t version; /* 0: free */
    struct key_owner owner;
};

struct owners {
    unsigned char secret[crypto_shorthash_siphashx24_KEYBYTES];
    struct known sets[SETS][WAYS];
};

struct owners *owners_new(void)
{
    struct owners *o = xcalloc(1, sizeof *o); /* fresh pages: they take memory when they are written */
    randombytes_buf(o->secret, sizeof o->secret);
    return o;
}

void owners_free(struct owners *o)
{
    free(o);
}

static size_t set_of(const uint8_t tag[OWNERS_TAG_LEN])
{
    return ((size_t)tag[0] << 8 | tag[1]) % SETS;
}

void owners_tag(const struct owners *o, struct str key, uint8_t tag[OWNERS_TAG_LEN])
{
    CHECK(crypto_shorthash_siphashx24(tag, (const unsigned char *)key.p, key.len, o->secret) == 0);
}

bool owners_get(const struct owners *o, const uint8_t tag[OWNERS_TAG_LEN], uint64_t version,
                struct key_owner *out)
{
    const struct known *set = o->sets[set_of(tag)];
    for (int i = 0; i < WAYS; i++)
        if (set[i].version == version && memcmp(set[i].tag, tag, OWNERS_TAG_LEN) == 0) {
            *out = set[i].owner;
            return true;
        }
    return false;
}

void owners_put(struct owners *o, const uint8_t tag[OWNERS_TAG_LEN], uint64_t version,
                const struct key_owner *owner)
{
    struct known *set = o->sets[set_of(tag)], *to = &set[0];
    for (int i = 0; i < WAYS; i++)
        if (memcmp(set[i].tag, tag, OWNERS_TAG_LEN) == 0) {
            to = &set[i];
            break;
        } else if (set[i].version < to->version) {
            to = &set[i];
        }
    memcpy(to->tag, tag, OWNERS_TAG_LEN);
    to->version = version;
    to->owner = *owner;
}

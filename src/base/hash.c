/* The only file that knows xxHash. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_64(struct str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.p, s.len, seed);
}

void hash_128_text(struct str s, char out[HASH_TEXT_LEN])
{
    static const char hex[] = "0123456789abcdef";
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, XXH3_128bits(s.p, s.len));
    for (size_t i = 0; i < sizeof c.digest; i++) {
        out[2 * i] = hex[c.digest[i] >> 4];
        out[2 * i + 1] = hex[c.digest[i] & 15];
    }
}

/* The only file that includes xxHash. */
#include "base/hash.h"

#include "base/number.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_64(struct str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.p, s.len, seed);
}

void hash_128_text(struct str s, char out[HASH_TEXT_LEN])
{
    XXH128_canonical_t hash;
    XXH128_canonicalFromHash(&hash, XXH3_128bits(s.p, s.len));
    hex_format(hash.digest, sizeof hash.digest, out);
}

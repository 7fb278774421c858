/* Fast hashes for entity tags, cursors and hash tables. They are not cryptographic. */
#ifndef VT_BASE_HASH_H
#define VT_BASE_HASH_H

#include "base/str.h"

#include <stdint.h>

/* Returns the 64-bit XXH3 hash. To hash several texts, pass the hash of the first as the seed of the
 * second. */
uint64_t hash_64(struct str s, uint64_t seed);

/* Returns a hash of an integer. The hashes of consecutive integers are spread evenly. Do not use it for
 * integers that a client chooses, because a client can choose integers that collide. */
static inline uint64_t hash_i64(int64_t v)
{
    uint64_t x = (uint64_t)v;
    x = (x ^ x >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return x ^ x >> 32;
}

/* Writes the 128-bit XXH3 hash as 32 lower-case hexadecimal digits, not terminated. */
enum { HASH_TEXT_LEN = 32 };
void hash_128_text(struct str s, char out[HASH_TEXT_LEN]);

#endif

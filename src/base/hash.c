/* The only file that knows xxHash. Where the processor has AVX2, long texts take half the instructions; for
 * that some of xxHash's inner functions are named here as its own dispatcher (xxh_x86dispatch.c) has them
 * since 0.8.2. What comes out is the same. */
#include "base/hash.h"

#ifdef __x86_64__
#include <immintrin.h>

#define XXH_X86DISPATCH
#define XXH_DISPATCH_AVX2 1
#define XXH_TARGET_AVX2   __attribute__((target("avx2")))
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_64(struct str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.p, s.len, seed);
}

#if defined XXH_X86DISPATCH && XXH_VERSION_NUMBER >= 802
/* gcc 12 leaves the upper halves of the registers in use in a function of another target, and then all SSE
 * instructions of the process wait for them. */
static XXH_TARGET_AVX2 XXH128_hash_t hash_long_avx2(struct str s)
{
    XXH128_hash_t hash = XXH3_hashLong_128b_internal(s.p, s.len, XXH3_kSecret, sizeof XXH3_kSecret,
                                                     XXH3_accumulate_avx2, XXH3_scrambleAcc_avx2);
    _mm256_zeroupper();
    return hash;
}

static XXH128_hash_t hash_128(struct str s)
{
    if (s.len > XXH3_MIDSIZE_MAX && __builtin_cpu_supports("avx2"))
        return hash_long_avx2(s);
    return XXH3_128bits(s.p, s.len);
}
#else
static XXH128_hash_t hash_128(struct str s)
{
    return XXH3_128bits(s.p, s.len);
}
#endif

void hash_128_text(struct str s, char out[HASH_TEXT_LEN])
{
    static const char hex[] = "0123456789abcdef";
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, hash_128(s));
    for (size_t i = 0; i < sizeof c.digest; i++) {
        out[2 * i] = hex[c.digest[i] >> 4];
        out[2 * i + 1] = hex[c.digest[i] & 15];
    }
}

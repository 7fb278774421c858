/* Digits two at a time: a division by 100 costs what one by 10 does. */
#ifndef VT_BASE_DIGITS_H
#define VT_BASE_DIGITS_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* "00" to "ff". */
static const char hex_pairs[513] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
                                   "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
                                   "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
                                   "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
                                   "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
                                   "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
                                   "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
                                   "e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

static inline void put_2_hex(char *out, unsigned v)
{
    memcpy(out, hex_pairs + 2 * v, 2);
}

/* "00" to "99". */
static const char digit_pairs[201] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

/* `v` below 100. */
static inline void put_2_digits(char *out, unsigned v)
{
    memcpy(out, digit_pairs + 2 * v, 2);
}

/* `v` below 10,000. */
static inline void put_4_digits(char *out, unsigned v)
{
    put_2_digits(out, v / 100);
    put_2_digits(out + 2, v % 100);
}

/* The two digits of `v` below 100, the first in the low byte. */
static inline uint32_t digit_pair(unsigned v)
{
    uint16_t pair;
    memcpy(&pair, digit_pairs + 2 * v, sizeof pair);
    return le16toh(pair);
}

/* `v` below 10,000 without leading zeros. Writes 4 bytes whatever it is, the digits first, and returns how
 * many digits there are; without branches, because nobody foresees how long a number is. */
static inline size_t put_up_to_4_digits(char *out, unsigned v)
{
    const uint32_t text = digit_pair(v / 100) | digit_pair(v % 100) << 16;
    /* The lowest bit set of the values of the digits stands in the first that counts; the last one counts
     * always. */
    const unsigned zeros = (unsigned)__builtin_ctz((text & 0x0f0f0f0f) | 1u << 24) / 8;
    const uint32_t cut = htole32(text >> 8 * zeros);
    memcpy(out, &cut, sizeof cut);
    return 4 - zeros;
}

/* Writes `v` in decimal to `out` (room for 20 characters) and returns how many were written. Not terminated.
 */
size_t fmt_i64_any(char *out, int64_t v);
static inline size_t fmt_i64(char *out, int64_t v)
{
    return (uint64_t)v < 10000 ? put_up_to_4_digits(out, (unsigned)v) : fmt_i64_any(out, v);
}

#endif

/* Integers as text. None of the texts is terminated. */
#ifndef VT_BASE_NUMBER_H
#define VT_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { I64_TEXT_MAX = 20, HEX_64_LEN = 16 };

/* Decimal; returns the length. */
size_t i64_format(int64_t v, char out[I64_TEXT_MAX]);

/* Lower-case hexadecimal digits, two for each byte. */
void hex_format(const uint8_t *bytes, size_t count, char *out);
void hex_64_format(uint64_t v, char out[HEX_64_LEN]);

/* Decimal with leading zeros. `v` has at most two digits, or four. */
static inline void format_2_digits(unsigned v, char *out)
{
    out[0] = (char)('0' + v / 10);
    out[1] = (char)('0' + v % 10);
}

static inline void format_4_digits(unsigned v, char *out)
{
    format_2_digits(v / 100, out);
    format_2_digits(v % 100, out + 2);
}

#endif

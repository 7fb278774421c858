/* Formats integers as text. The texts are not NUL-terminated. */
#ifndef VT_BASE_NUMBER_H
#define VT_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { I64_TEXT_MAX = 20, HEX_64_LEN = 16 };

/* Writes `v` in decimal and returns the length of the text. */
size_t i64_format(int64_t v, char out[I64_TEXT_MAX]);

/* Returns the value of a hexadecimal digit in either case, or -1 if the character is no such digit. */
int hex_digit(char c);

/* Writes lower-case hexadecimal digits, two for each byte. */
void hex_format(const uint8_t *bytes, size_t count, char *out);

/* Writes `v` as 16 lower-case hexadecimal digits. */
void hex_64_format(uint64_t v, char out[HEX_64_LEN]);

/* Writes `v` in decimal with leading zeros. `v` must be at most 99, or 9999 for format_4_digits(). */
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

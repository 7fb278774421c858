/* Decimal digits two at a time: a division by 100 costs what one by 10 does. */
#ifndef VT_BASE_DIGITS_H
#define VT_BASE_DIGITS_H

#include <string.h>

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

#endif

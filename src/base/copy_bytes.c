/* Copies in pieces of fixed size, because the compiler copies such a piece with a single instruction. In
 * copy_bytes(), the last piece overlaps the one before it, so that no size needs a loop over bytes. */
#include "base/copy_bytes.h"

#include <stdint.h>

enum { LONG_COPY = 2048 };

#define COPY(to, from, n) __builtin_memcpy((to), (from), (n))

static inline void copy_up_to_16(char *to, const char *from, size_t n)
{
    if (n >= 8) {
        COPY(to, from, 8);
        COPY(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        COPY(to, from, 4);
        COPY(to + n - 4, from + n - 4, 4);
    } else if (n >= 2) {
        COPY(to, from, 2);
        COPY(to + n - 2, from + n - 2, 2);
    } else if (n) {
        *to = *from;
    }
}

/* musl calls memcpy() before it has set the canary of the stack protector, so this function must not use the
 * canary. */
__attribute__((no_stack_protector)) void *copy_bytes(void *restrict to, const void *restrict from, size_t n)
{
    char *d = to;
    const char *s = from;
    if (n <= 16) {
        copy_up_to_16(d, s, n);
        return to;
    }
#ifdef __x86_64__
    if (n >= LONG_COPY) {
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
        return to;
    }
#endif
    for (; n > 64; n -= 64, d += 64, s += 64) {
        COPY(d, s, 16);
        COPY(d + 16, s + 16, 16);
        COPY(d + 32, s + 32, 16);
        COPY(d + 48, s + 48, 16);
    }
    for (size_t at = 0; at + 16 < n; at += 16)
        COPY(d + at, s + at, 16);
    if (n >= 16)
        COPY(d + n - 16, s + n - 16, 16);
    else
        copy_up_to_16(d, s, n);
    return to;
}

/* Loads all bytes before it stores them, because the ranges may overlap. */
static inline void move_16(char *to, const char *from)
{
    char piece[16];
    COPY(piece, from, 16);
    COPY(to, piece, 16);
}

__attribute__((no_stack_protector)) void *move_bytes(void *to, const void *from, size_t n)
{
    char *d = to;
    const char *s = from;
    const uintptr_t ahead = (uintptr_t)d - (uintptr_t)s, back = (uintptr_t)s - (uintptr_t)d;
    if (ahead >= n && back >= n)
        return copy_bytes(to, from, n);
    if (back < n) {
        for (; n >= 16; n -= 16, d += 16, s += 16)
            move_16(d, s);
        for (; n; n--)
            *d++ = *s++;
        return to;
    }
    for (; n >= 16; n -= 16)
        move_16(d + n - 16, s + n - 16);
    while (n--)
        d[n] = s[n];
    return to;
}

#ifdef VT_STATIC
void *memcpy(void *restrict to, const void *restrict from, size_t n) __attribute__((alias("copy_bytes")));
void *memmove(void *to, const void *from, size_t n) __attribute__((alias("move_bytes")));
#endif

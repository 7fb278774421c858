/* The output buffer. Integers are written by hand because snprintf costs as much as the rest of a rendered
 * field. */
#include "base/buf.h"

#include "base/check.h"
#include "base/digits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 512 };

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_init_fallible(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max, .fails_without_memory = true};
}

void buf_fini(struct buf *b)
{
    free(b->p);
    b->p = NULL;
    b->len = b->cap = 0;
}

void buf_reset(struct buf *b, size_t keep)
{
    if (b->cap > keep)
        buf_fini(b);
    b->len = 0;
    b->before = '\0';
    b->failed = b->lacks_memory = false;
}

void buf_go_on(struct buf *b)
{
    if (b->len)
        b->before = b->p[b->len - 1];
    b->len = 0;
}

char *buf_grow(struct buf *b, size_t more)
{
    if (b->failed || more > b->max || b->len > b->max - more) {
        b->failed = true;
        return NULL;
    }
    size_t cap = b->cap ? b->cap : FIRST_CAPACITY;
    while (cap < b->len + more)
        cap *= 2;
    if (cap > b->max)
        cap = b->max;
    char *p = b->fails_without_memory ? try_realloc(b->p, cap) : xrealloc(b->p, cap);
    if (!p) {
        b->failed = b->lacks_memory = true;
        return NULL;
    }
    b->p = p;
    b->cap = cap;
    return b->p + b->len;
}

/* From the right to the left: the last eight digits, the four in front of them, and so on. */
static size_t fmt_u64(char *out, uint64_t u)
{
    size_t n = 0;
    if (u >= 100000000) {
        n = fmt_u64(out, u / 100000000);
        unsigned rest = (unsigned)(u % 100000000);
        put_4_digits(out + n, rest / 10000);
        put_4_digits(out + n + 4, rest % 10000);
        return n + 8;
    }
    unsigned v = (unsigned)u;
    if (v >= 10000) {
        n = put_up_to_4_digits(out, v / 10000);
        put_4_digits(out + n, v % 10000);
        return n + 4;
    }
    return put_up_to_4_digits(out, v);
}

size_t fmt_i64_any(char *out, int64_t v)
{
    if (v >= 0)
        return fmt_u64(out, (uint64_t)v);
    *out = '-';
    return 1 + fmt_u64(out + 1, 0 - (uint64_t)v);
}

void fmt_hex_64(char out[HEX_64_LEN], uint64_t v)
{
    for (int i = HEX_64_LEN - 2; i >= 0; i -= 2, v >>= 8)
        put_2_hex(out + i, v & 0xff);
}

void buf_append_i64(struct buf *b, int64_t v)
{
    char *to = buf_reserve(b, 20);
    if (to)
        b->len += fmt_i64(to, v);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    CHECK(n >= 0);
    char *to = buf_reserve(b, (size_t)n + 1);
    if (to) {
        (void)vsnprintf(to, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

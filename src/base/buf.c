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
    b->failed = false;
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
    b->p = xrealloc(b->p, cap);
    b->cap = cap;
    return b->p + b->len;
}

static size_t digit_count(uint64_t u)
{
    size_t n = 1;
    for (; u >= 10000; u /= 10000)
        n += 4;
    return n + (u >= 10) + (u >= 100) + (u >= 1000);
}

size_t fmt_i64(char *out, int64_t v)
{
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (v < 0)
        *out = '-';
    size_t n = digit_count(u) + (v < 0);
    char *at = out + n;
    while (u >= 100) {
        at -= 2;
        put_2_digits(at, (unsigned)(u % 100));
        u /= 100;
    }
    if (u >= 10)
        put_2_digits(at - 2, (unsigned)u);
    else
        at[-1] = (char)('0' + u);
    return n;
}

void fmt_hex_64(char out[HEX_64_LEN], uint64_t v)
{
    for (int i = HEX_64_LEN; i-- > 0; v >>= 4)
        out[i] = "0123456789abcdef"[v & 15];
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

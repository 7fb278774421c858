/* Enlarges the output buffer: the capacity doubles, up to the maximum. */
#include "base/buf.h"

#include "base/check.h"
#include "base/number.h"

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

void buf_discard_sent(struct buf *b)
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

void buf_append_i64(struct buf *b, int64_t v)
{
    char text[I64_TEXT_MAX];
    buf_append(b, str_make(text, i64_format(v, text)));
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

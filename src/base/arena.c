/* A chain of blocks; allocation moves a mark. Under AddressSanitizer a reset poisons nothing: stale use is
 * found by the tests that scribble over a reset arena. */
#include "base/arena.h"

#include "base/check.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct arena_block {
    struct arena_block *next;
    size_t used, cap;
    alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *a, size_t block_size)
{
    *a = (struct arena){.block_size = block_size};
}

static void free_chain(struct arena_block *b)
{
    while (b) {
        struct arena_block *next = b->next;
        free(b);
        b = next;
    }
}

void arena_fini(struct arena *a)
{
    free_chain(a->first);
    a->first = a->current = NULL;
}

void arena_reset(struct arena *a)
{
    if (!a->first)
        return;
    free_chain(a->first->next);
    a->first->next = NULL;
    a->first->used = 0;
    a->current = a->first;
}

void arena_wipe(struct arena *a)
{
    for (struct arena_block *b = a->first; b; b = b->next)
        explicit_bzero(b->data, b->used);
    arena_reset(a);
}

size_t arena_bytes(const struct arena *a)
{
    size_t bytes = 0;
    for (const struct arena_block *b = a->first; b; b = b->next)
        bytes += b->used;
    return bytes;
}

static struct arena_block *add_block(struct arena *a, size_t need)
{
    size_t cap = need > a->block_size ? need : a->block_size;
    struct arena_block *b = xmalloc(sizeof *b + cap);
    *b = (struct arena_block){.cap = cap};
    if (a->current)
        a->current->next = b;
    else
        a->first = b;
    a->current = b;
    return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
    const size_t align = alignof(max_align_t);
    CHECK(size <= SIZE_MAX / 2);
    size = (size + align - 1) & ~(align - 1);
    struct arena_block *b = a->current;
    if (!b || b->cap - b->used < size)
        b = add_block(a, size);
    void *p = b->data + b->used;
    b->used += size;
    memset(p, 0, size);
    return p;
}

struct str arena_copy(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.len + 1);
    if (s.len)
        memcpy(p, s.p, s.len);
    return str_make(p, s.len);
}

struct str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    char text[256]; /* enough for most: formatting costs more than copying */
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    CHECK(n >= 0);
    char *p = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof text)
        memcpy(p, text, (size_t)n + 1);
    else
        (void)vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return str_make(p, (size_t)n);
}

struct str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct str s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

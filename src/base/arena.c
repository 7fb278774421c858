/* A chain of blocks; an allocation advances an offset in the last block.
 *
 * Under AddressSanitizer, the blocks only count the sizes. The memory of each allocation (a piece) comes from
 * malloc(), and arena_reset() frees it. So AddressSanitizer detects overruns and uses after a reset. */
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

/* clang has __has_feature. gcc defines __SANITIZE_ADDRESS__ itself; since version 14, it also has
 * __has_feature. */
#if defined(__has_feature) && !defined(__SANITIZE_ADDRESS__)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
struct arena_piece {
    struct arena_piece *next;
    size_t size;
    alignas(max_align_t) unsigned char data[];
};

static void *memory_of(struct arena *a, unsigned char *in_block, size_t size)
{
    (void)in_block;
    /* Calls malloc() instead of try_malloc(), because faults are injected only into the allocation of
     * blocks. */
    struct arena_piece *piece = malloc(sizeof *piece + size);
    if (!piece)
        out_of_memory();
    *piece = (struct arena_piece){.next = a->pieces, .size = size};
    a->pieces = piece;
    return piece->data;
}

static void free_pieces(struct arena *a)
{
    for (struct arena_piece *piece = a->pieces, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    a->pieces = NULL;
}

static void wipe_pieces(struct arena *a)
{
    for (struct arena_piece *piece = a->pieces; piece; piece = piece->next)
        explicit_bzero(piece->data, piece->size);
}
#else
static void *memory_of(struct arena *a, unsigned char *in_block, size_t size)
{
    (void)a;
    (void)size;
    return in_block;
}

static void free_pieces(struct arena *a)
{
    (void)a;
}

static void wipe_pieces(struct arena *a)
{
    (void)a;
}
#endif

void arena_init(struct arena *a, size_t block_size)
{
    *a = (struct arena){.block_size = block_size};
}

static void free_chain(struct arena *a, struct arena_block *b)
{
    while (b) {
        struct arena_block *next = b->next;
        if (a->reserve && b == a->reserve->block)
            a->reserve->is_in_use = false;
        else
            free(b);
        b = next;
    }
    a->lacks_memory = false;
}

void arena_fini(struct arena *a)
{
    free_pieces(a);
    free_chain(a, a->first);
    a->first = a->current = NULL;
}

void arena_reset(struct arena *a)
{
    if (!a->first)
        return;
    free_pieces(a);
    free_chain(a, a->first->next);
    a->first->next = NULL;
    a->first->used = 0;
    a->current = a->first;
}

void arena_wipe(struct arena *a)
{
    for (struct arena_block *b = a->first; b; b = b->next)
        explicit_bzero(b->data, b->used);
    wipe_pieces(a);
    arena_reset(a);
}

size_t arena_bytes(const struct arena *a)
{
    size_t bytes = 0;
    for (const struct arena_block *b = a->first; b; b = b->next)
        bytes += b->used;
    return bytes;
}

static struct arena_block *block_new(size_t cap)
{
    struct arena_block *b = try_malloc(sizeof *b + cap);
    if (b)
        *b = (struct arena_block){.cap = cap};
    return b;
}

static void append_block(struct arena *a, struct arena_block *b)
{
    if (a->current)
        a->current->next = b;
    else
        a->first = b;
    a->current = b;
}

static struct arena_block *borrow_reserve(struct arena *a, size_t need)
{
    struct arena_reserve *reserve = a->reserve;
    if (!reserve || reserve->is_in_use || reserve->block->cap < need)
        out_of_memory();
    CHECK(a->first); /* the reserve must not become the first block, which arena_reset() does not release */
    reserve->is_in_use = a->lacks_memory = true;
    reserve->block->next = NULL;
    reserve->block->used = 0;
    return reserve->block;
}

bool arena_allocate_first_block(struct arena *a)
{
    struct arena_block *b = a->first ? a->first : block_new(a->block_size);
    if (b && !a->first)
        append_block(a, b);
    return b != NULL;
}

bool arena_reserve_init(struct arena_reserve *reserve, size_t size)
{
    *reserve = (struct arena_reserve){.block = block_new(size)};
    return reserve->block != NULL;
}

void arena_reserve_fini(struct arena_reserve *reserve)
{
    CHECK(!reserve->is_in_use);
    free(reserve->block);
    reserve->block = NULL;
}

static void *allocate(struct arena *a, size_t size, size_t align)
{
    CHECK(size <= SIZE_MAX / 2);
    struct arena_block *b = a->current;
    size_t begin = b ? (b->used + align - 1) & ~(align - 1) : 0;
    if (!b || begin > b->cap || b->cap - begin < size) {
        b = block_new(size > a->block_size ? size : a->block_size);
        if (!b)
            b = borrow_reserve(a, size);
        append_block(a, b);
        begin = 0;
    }
    b->used = begin + size;
    return memset(memory_of(a, b->data + begin, size), 0, size);
}

void *arena_alloc(struct arena *a, size_t size)
{
    return allocate(a, size, alignof(max_align_t));
}

char *arena_alloc_text(struct arena *a, size_t size)
{
    return allocate(a, size, 1);
}

struct str arena_copy(struct arena *a, struct str s)
{
    char *p = arena_alloc_text(a, s.len + 1);
    if (s.len)
        memcpy(p, s.p, s.len);
    return str_make(p, s.len);
}

struct str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    char text[256]; /* nearly always large enough: copying is cheaper than formatting twice */
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    CHECK(n >= 0);
    char *p = arena_alloc_text(a, (size_t)n + 1);
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

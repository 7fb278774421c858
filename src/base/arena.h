/* Arena: memory that is given back all at once. One for each request; reset between requests, not freed. */
#ifndef VT_BASE_ARENA_H
#define VT_BASE_ARENA_H

#include "base/str.h"

#include <stdarg.h>

struct arena_block;

struct arena {
    struct arena_block *first; /* kept over resets */
    struct arena_block *current;
    size_t block_size;
};

/* Nothing is allocated before the first use. `block_size` bytes are kept over resets. */
void arena_init(struct arena *a, size_t block_size);
void arena_fini(struct arena *a);

/* Forgets everything allocated; keeps the first block, frees the others. */
void arena_reset(struct arena *a);

/* The same after overwriting what was allocated: it held secrets. */
void arena_wipe(struct arena *a);

/* The bytes that are allocated in the arena now. */
size_t arena_bytes(const struct arena *a);

/* Zeroed, aligned for any type; never NULL (out of memory ends the process: sizes are bounded by the
 * callers). */
void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* Copies of bytes that live as long as the arena; the copy is NUL-terminated behind its end. */
struct str arena_copy(struct arena *a, struct str s);
struct str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct str arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif

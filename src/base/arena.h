/* An arena: allocations that are all freed together. Each HTTP request allocates from an arena, which is
 * reset and reused for the next request. */
#ifndef VT_BASE_ARENA_H
#define VT_BASE_ARENA_H

#include "base/error.h"
#include "base/str.h"

#include <stdarg.h>

struct arena_block;
struct arena_piece; /* exists only under AddressSanitizer, see arena.c */

/* A block allocated in advance, which an arena uses when malloc() fails. One arena can use it at a time. */
struct arena_reserve {
    struct arena_block *block;
    bool is_in_use;
};

struct arena {
    struct arena_block *first; /* survives arena_reset() */
    struct arena_block *current;
    struct arena_piece *pieces;
    size_t block_size;
    struct arena_reserve *reserve; /* NULL if the arena has none */
    bool lacks_memory;             /* malloc() has failed, so the arena allocates from its reserve */
};

/* Initializes an empty arena; memory is allocated at the first use. Blocks have `block_size` bytes, or more
 * if a single allocation is larger. */
void arena_init(struct arena *a, size_t block_size);

/* Frees the arena's memory. */
void arena_fini(struct arena *a);

/* Frees everything that was allocated from the arena, but retains its first block for reuse. */
void arena_reset(struct arena *a);

/* Like arena_reset(), but overwrites the memory first. Use it if the arena held secrets. */
void arena_wipe(struct arena *a);

/* Returns the number of bytes allocated from the arena since the last reset. */
size_t arena_bytes(const struct arena *a);

/* Allocates the first block, so that allocating the first `block_size` bytes cannot fail. Returns false if
 * out of memory. */
MUST_USE bool arena_allocate_first_block(struct arena *a);

/* Allocates a reserve of `size` bytes. Returns false if out of memory. To give the reserve to an arena, set
 * the arena's member `reserve` and call arena_allocate_first_block(); several arenas may have the same
 * reserve.
 *
 * If malloc() fails, the arena allocates from the reserve and sets `lacks_memory`. So the code that
 * allocates from the arena need not handle the failure. When that code returns, the owner of the arena
 * tests `lacks_memory`. If it is true, the owner must abandon the work and reset the arena. The reset makes
 * the reserve available to other arenas. */
MUST_USE bool arena_reserve_init(struct arena_reserve *reserve, size_t size);
void arena_reserve_fini(struct arena_reserve *reserve);

/* Returns `size` zeroed bytes, aligned for any type. Never returns NULL: if malloc() fails, allocates from
 * the arena's reserve, and aborts the process if there is no reserve, or if it is in use or too small. Limit
 * every size that a client can influence before you call this function. */
void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* Like arena_alloc(), but without alignment, so that many short texts waste no memory. */
char *arena_alloc_text(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* Each of these returns a text in the arena. A NUL follows the text; the length does not include the NUL. */
struct str arena_copy(struct arena *a, struct str s);
struct str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct str arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif

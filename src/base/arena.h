/* Arena: memory that is freed all at once. A request has one; it is reset between requests, not freed. */
#ifndef VT_BASE_ARENA_H
#define VT_BASE_ARENA_H

#include "base/error.h"
#include "base/str.h"

#include <stdarg.h>

struct arena_block;
struct arena_piece; /* only under AddressSanitizer, see arena.c */

/* A block allocated in advance, for arenas that run out of memory. It serves one arena at a time. */
struct arena_reserve {
    struct arena_block *block;
    bool is_lent;
};

struct arena {
    struct arena_block *first; /* survives arena_reset() */
    struct arena_block *current;
    struct arena_piece *pieces;
    size_t block_size;
    struct arena_reserve *reserve; /* NULL: none */
    bool lacks_memory;             /* the reserve is in use */
};

/* Allocates nothing before the first use. Blocks have `block_size` bytes, or more for a larger piece. */
void arena_init(struct arena *a, size_t block_size);
void arena_fini(struct arena *a);

/* Frees everything that was allocated from the arena; the first block stays for reuse. */
void arena_reset(struct arena *a);

/* Like arena_reset(), but overwrites the memory first, because it held secrets. */
void arena_wipe(struct arena *a);

/* Bytes allocated from the arena since the last reset. */
size_t arena_bytes(const struct arena *a);

/* Allocates the first block, so that the first `block_size` bytes cannot fail. False: out of memory. */
MUST_USE bool arena_obtain_first(struct arena *a);

/* An arena with a reserve allocates from it when out of memory, so that code in the middle of its work need
 * not handle failure: the caller tests `lacks_memory` afterwards, abandons the work, and resets the arena
 * before another arena may need the reserve. False: out of memory. */
MUST_USE bool arena_reserve_init(struct arena_reserve *reserve, size_t size);
void arena_reserve_fini(struct arena_reserve *reserve);

/* Zeroed and aligned for any type; never NULL. Out of memory ends the process if the arena has no reserve, or
 * if the reserve is too small: callers bound their sizes first. */
void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* Like arena_alloc(), but not aligned, so that many short texts of a client take no more than their size. */
char *arena_alloc_text(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* Copies into the arena. The copy is followed by a NUL, which its length does not count. */
struct str arena_copy(struct arena *a, struct str s);
struct str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct str arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif

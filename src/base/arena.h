/* Arena: memory that is given back all at once. One for each request; reset between requests, not freed. */
#ifndef VT_BASE_ARENA_H
#define VT_BASE_ARENA_H

#include "base/error.h"
#include "base/str.h"

#include <stdarg.h>

struct arena_block;

/* One block that is allocated in advance, for arenas whose memory runs out. One arena at a time has it. */
struct arena_reserve {
    struct arena_block *block;
    bool is_lent;
};

struct arena {
    struct arena_block *first; /* kept over resets */
    struct arena_block *current;
    size_t block_size;
    struct arena_reserve *reserve; /* NULL: none */
    bool lacks_memory;             /* lives on the reserve */
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

/* Allocates the first block, so that `block_size` bytes cannot fail later. False: no memory. */
MUST_USE bool arena_obtain_first(struct arena *a);

/* Without memory, an arena with a reserve goes on in that, so that code in the middle of its work need not
 * handle failure: its caller tests `lacks_memory` afterwards, gives the work up, and resets the arena before
 * any other arena may need the reserve. False: no memory. */
MUST_USE bool arena_reserve_init(struct arena_reserve *reserve, size_t size);
void arena_reserve_fini(struct arena_reserve *reserve);

/* Zeroed, aligned for any type; never NULL. Out of memory ends the process if the arena has no reserve, or
 * needs more than the reserve: sizes are bounded by the callers. */
void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* The same for bytes, without alignment: many short texts of a client take no more than their size. */
char *arena_alloc_text(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* Copies of bytes that live as long as the arena; the copy is NUL-terminated behind its end. */
struct str arena_copy(struct arena *a, struct str s);
struct str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct str arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif

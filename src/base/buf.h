/* A growing output buffer with a hard maximum. Failure is sticky: append everything, then test `failed` once.
 * Appending always checks its room. */
#ifndef VT_BASE_BUF_H
#define VT_BASE_BUF_H

#include "base/str.h"

#include <stdint.h>

struct buf {
    char *p;
    size_t len, cap, max;
    bool failed;               /* an append did not fit into `max`; it and later ones were dropped */
    bool fails_without_memory; /* out of memory sets `failed`; otherwise it ends the process */
    bool lacks_memory;         /* failed because out of memory */
    char before;               /* last byte that buf_discard_sent() removed; 0: none */
};

/* Allocates nothing yet. Out of memory ends the process. */
void buf_init(struct buf *b, size_t max);
/* The same, but out of memory sets `failed` and `lacks_memory`. */
void buf_init_fallible(struct buf *b, size_t max);
void buf_fini(struct buf *b);

/* A buffer in memory of the caller, which never grows. Needs no buf_fini(). */
static inline struct buf buf_on(char *room, size_t size)
{
    return (struct buf){.p = room, .cap = size, .max = size};
}

/* Empties the buffer and clears the failure. Frees its memory if that is more than `keep` bytes. */
void buf_reset(struct buf *b, size_t keep);

/* Removes the content, because it was sent, in the middle of a text that continues. */
void buf_discard_sent(struct buf *b);

/* Makes room for `more` bytes and returns the address of p[len], or NULL if the buffer failed. The caller
 * writes at most `more` bytes there and adds their number to `len`. */
char *buf_grow(struct buf *b, size_t more);
static inline char *buf_reserve(struct buf *b, size_t more)
{
    return !b->failed && b->cap - b->len >= more ? b->p + b->len : buf_grow(b, more);
}

static inline void buf_append(struct buf *b, struct str s)
{
    char *to = buf_reserve(b, s.len);
    if (to && s.len) {
        memcpy(to, s.p, s.len);
        b->len += s.len;
    }
}

static inline void buf_append_char(struct buf *b, char c)
{
    char *to = buf_reserve(b, 1);
    if (to) {
        *to = c;
        b->len++;
    }
}

void buf_append_i64(struct buf *b, int64_t v);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline struct str buf_str(const struct buf *b)
{
    return str_make(b->p, b->len);
}

#endif

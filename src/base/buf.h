/* An output buffer that grows up to a maximum size. If an append does not fit, the buffer sets `failed` and
 * ignores all further appends. So append everything, then test `failed` once. */
#ifndef VT_BASE_BUF_H
#define VT_BASE_BUF_H

#include "base/str.h"

#include <stdint.h>

struct buf {
    char *p;
    size_t len, cap, max;
    bool failed;               /* an append did not fit into `max`, or memory ran out */
    bool fails_without_memory; /* if out of memory, set `failed` instead of aborting the process */
    bool lacks_memory;         /* the reason of `failed` is lack of memory */
    char before;               /* last byte that buf_discard_sent() removed; 0 if none */
};

/* Initializes an empty buffer that can grow to `max` bytes. Memory is allocated at the first append. If out
 * of memory, an append aborts the process. */
void buf_init(struct buf *b, size_t max);
/* Like buf_init(), but an append that runs out of memory sets `failed` and `lacks_memory` instead. */
void buf_init_fallible(struct buf *b, size_t max);
/* Frees the memory of the buffer. */
void buf_fini(struct buf *b);

/* Returns a buffer that uses the `size` bytes at `room`, which belong to the caller, and never grows. Do not
 * call buf_fini() on it. */
static inline struct buf buf_on(char *room, size_t size)
{
    return (struct buf){.p = room, .cap = size, .max = size};
}

/* Empties the buffer and clears `failed`. Frees the memory if its size exceeds `keep` bytes. */
void buf_reset(struct buf *b, size_t keep);

/* Removes the content after it has been sent, and stores its last byte in `before`. json_comma() needs that
 * byte to decide whether a comma must precede the next value. */
void buf_discard_sent(struct buf *b);

/* Makes room for `more` bytes and returns the address of p[len]. Write at most `more` bytes there, and add
 * their number to `len`. Returns NULL if the bytes do not fit (the function then sets `failed`), or if
 * `failed` was already set. */
char *buf_grow(struct buf *b, size_t more);
/* Does the same as buf_grow(), but faster if there is enough room already. */
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

/* Appends `v` in decimal. */
void buf_append_i64(struct buf *b, int64_t v);
/* Appends a formatted text. Sets `failed` unless there is room for the text and one more byte, a NUL, which
 * does not become part of the content. */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the content, which is valid until the buffer changes. */
static inline struct str buf_str(const struct buf *b)
{
    return str_make(b->p, b->len);
}

#endif

/* Growing output buffer with a hard maximum. Failure is sticky: write on, test `failed` once at the end. */
#ifndef VT_BASE_BUF_H
#define VT_BASE_BUF_H

#include "base/str.h"

#include <stdint.h>

struct buf {
    char *p;
    size_t len, cap, max;
    bool failed;               /* would have grown above `max`; what was appended since is lost */
    bool fails_without_memory; /* else the process ends when there is no memory */
    bool lacks_memory;         /* has failed because there was no memory */
    char before; /* the byte that stood before p[0] when buf_discard_sent() took it away; 0: p[0] is the first
                  */
};

/* Allocates nothing yet. */
void buf_init(struct buf *b, size_t max);
/* The same, but no memory is a failure like too little room: for callers that test `failed`. */
void buf_init_fallible(struct buf *b, size_t max);
void buf_fini(struct buf *b);

/* On memory of the caller's, which it never outgrows: it fails instead. Needs no buf_fini(). */
static inline struct buf buf_on(char *room, size_t size)
{
    return (struct buf){.p = room, .cap = size, .max = size};
}

/* Empties it and clears the failure; gives memory back when more than `keep` bytes are held. */
void buf_reset(struct buf *b, size_t keep);

/* Empties it in the middle of a text: what it held was sent, more of the same text follows. */
void buf_discard_sent(struct buf *b);

/* Makes room for `more` bytes at p + len and returns the place, or NULL (and fails) when that is above `max`.
 * The caller writes at most `more` bytes there and then adds what it wrote to len. */
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

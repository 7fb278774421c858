/* The numbers in packed columns: LEB128 varints. Only the shortest form of a number is valid, so that equal
 * values have equal bytes. */
#ifndef VT_STORE_VARINT_H
#define VT_STORE_VARINT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { VARINT_MAX_BYTES = 10 };

static inline void varint_put(struct buf *b, uint64_t v)
{
    char *p = buf_reserve(b, VARINT_MAX_BYTES);
    if (!p)
        return;
    size_t n = 0;
    while (v >= 0x80) {
        p[n++] = (char)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (char)v;
    b->len += n;
}

/* Writes a signed number in zigzag encoding. */
static inline void varint_put_signed(struct buf *b, int64_t v)
{
    varint_put(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

/* Reads numbers from `p` to `end`. If a number is invalid or missing, sets `bad`, and returns 0 for this
 * number and all further ones. */
struct varint_reader {
    const unsigned char *p, *end;
    bool bad;
};

static inline struct varint_reader varint_reader_on(struct str packed)
{
    const unsigned char *p = (const unsigned char *)packed.p;
    return (struct varint_reader){.p = p, .end = packed.len ? p + packed.len : p};
}

static inline uint64_t varint_get(struct varint_reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        uint64_t byte = *r->p++;
        v |= (byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        bool is_shortest = byte != 0 || shift == 0, overflows = shift == 63 && byte > 1;
        if (!is_shortest || overflows)
            break;
        return v;
    }
    r->bad = true;
    r->p = r->end;
    return 0;
}

static inline int64_t varint_get_signed(struct varint_reader *r)
{
    uint64_t v = varint_get(r);
    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

/* Reads a number. Sets `bad` if it is larger than `max`. */
static inline uint64_t varint_get_at_most(struct varint_reader *r, uint64_t max)
{
    uint64_t v = varint_get(r);
    if (v <= max)
        return v;
    r->bad = true;
    r->p = r->end;
    return 0;
}

#endif

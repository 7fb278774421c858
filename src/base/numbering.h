/* Numbers what comes up again and again by the order in which it came up first: the videos of a page of
 * events. */
#ifndef VT_BASE_NUMBERING_H
#define VT_BASE_NUMBERING_H

#include <stdint.h>
#include <string.h>

enum { NUMBERING_MAX = 110, NUMBERING_SLOTS = 256 };

struct numbering {
    int count;
    int64_t rows[NUMBERING_MAX];
    uint8_t slots[NUMBERING_SLOTS]; /* number + 1, where the row's hash or the next free place is; 0: free */
};

static inline void numbering_begin(struct numbering *n)
{
    n->count = 0;
    memset(n->slots, 0, sizeof n->slots);
}

/* Where `row` is, or the place for it. */
static inline unsigned numbering_slot(const struct numbering *n, int64_t row)
{
    unsigned slot = (unsigned)((uint64_t)row * UINT64_C(0x9E3779B97F4A7C15) >> 56);
    while (n->slots[slot] && n->rows[n->slots[slot] - 1] != row)
        slot = (slot + 1) % NUMBERING_SLOTS;
    return slot;
}

/* The number of `row`; -1: it has none. */
static inline int numbering_find(const struct numbering *n, int64_t row)
{
    return n->slots[numbering_slot(n, row)] - 1;
}

/* The number of `row`; it is `count` of before when the row is new. The caller sees to it that there are
 * never more than NUMBERING_MAX. */
static inline int numbering_of(struct numbering *n, int64_t row)
{
    const unsigned slot = numbering_slot(n, row);
    if (n->slots[slot])
        return n->slots[slot] - 1;
    n->rows[n->count] = row;
    n->slots[slot] = (uint8_t)++n->count;
    return n->count - 1;
}

#endif

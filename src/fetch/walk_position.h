/* The position of a walk over the authors. A walk visits all authors in the order of their rows, beginning
 * with the run's first author and wrapping around. A walk with two passes visits all authors twice. */
#ifndef VT_FETCH_WALK_POSITION_H
#define VT_FETCH_WALK_POSITION_H

#include <stdbool.h>
#include <stdint.h>

enum { WALK_PASSES_MAX = 2 };

struct walk_position {
    int pass;     /* 0 for the first pass */
    bool wrapped; /* the walk has passed the last author and continued at the lowest row */
    int64_t author_row;
};

/* Compares two positions. Returns a number below, equal to, or above 0, like memcmp(). */
static inline int walk_position_cmp(const struct walk_position *a, const struct walk_position *b)
{
    if (a->pass != b->pass)
        return a->pass < b->pass ? -1 : 1;
    if (a->wrapped != b->wrapped)
        return a->wrapped ? 1 : -1;
    return (a->author_row > b->author_row) - (a->author_row < b->author_row);
}

/* For each pass, the position that the slowest walk has reached: every walk that makes this pass has loaded
 * the authors up to and including this position. */
struct walk_progress {
    struct walk_position reached[WALK_PASSES_MAX];
};

#endif

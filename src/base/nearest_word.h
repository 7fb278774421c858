/* The known word that a mistyped one probably means, for "did you mean …?". */
#ifndef VT_BASE_NEAREST_WORD_H
#define VT_BASE_NEAREST_WORD_H

#include "base/str.h"

struct nearest_word {
    struct str typed;
    const char *best; /* NULL: no candidate is near enough */
    size_t distance;
};

/* Only candidates within a third of the word's length (at least 1 edit) count. `typed` is borrowed. */
struct nearest_word nearest_word_of(struct str typed);

/* Remembers `candidate` if it is nearer than all before. Words longer than 63 bytes never match. */
void nearest_word_offer(struct nearest_word *n, const char *candidate);

#endif

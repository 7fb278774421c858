/* Finds the known word that is most similar to a mistyped word, for "did you mean …?". */
#ifndef VT_BASE_NEAREST_WORD_H
#define VT_BASE_NEAREST_WORD_H

#include "base/str.h"

struct nearest_word {
    struct str typed;
    const char *best; /* NULL if no candidate is similar enough */
    size_t distance;  /* number of edits from `typed` to `best`. The next candidate matches only with fewer
                         edits. Before the first match, the limit of edits */
};

/* Starts a search for the word `typed`, which must outlive the result. A candidate matches if one edit turns
 * `typed` into the candidate, or if the number of edits is at most a third of the length of `typed`. An edit
 * inserts, deletes or replaces one character, or swaps two adjacent characters. A candidate also matches if
 * `typed` has at least three characters and is its first part, before `_` or `-` (`plan` of `plan_active`);
 * this counts as one edit. */
struct nearest_word nearest_word_of(struct str typed);

/* Compares a candidate, and stores it in `best` if it is more similar than all candidates before it. Words
 * longer than 63 bytes never match. */
void nearest_word_compare(struct nearest_word *n, const char *candidate);

#endif

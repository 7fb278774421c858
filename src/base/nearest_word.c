/* Computes the edit distance with adjacent swaps (optimal string alignment). Only three rows of the matrix
 * are stored at a time. */
#include "base/nearest_word.h"

#include <string.h>

enum { WORD_MAX = 63, FIRST_PART_LEAST = 3 };

struct nearest_word nearest_word_of(struct str typed)
{
    const size_t limit = typed.len < 6 ? 2 : typed.len / 3 + 1;
    return (struct nearest_word){.typed = typed, .distance = limit};
}

static size_t least(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

static size_t distance_of(struct str a, struct str b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b.len; j++)
        above[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            const bool same = a.p[i - 1] == b.p[j - 1];
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b.len];
}

/* Returns true if `typed` is the part of `word` before a `_` or `-`. A part of fewer than three characters,
 * such as `is`, does not count, because too many words begin with it. */
static bool is_first_part(struct str typed, struct str word)
{
    return typed.len >= FIRST_PART_LEAST && typed.len < word.len && memcmp(typed.p, word.p, typed.len) == 0 &&
           strchr("_-", word.p[typed.len]);
}

void nearest_word_compare(struct nearest_word *n, const char *candidate)
{
    const struct str word = str_from_cstr(candidate);
    if (n->typed.len > WORD_MAX || word.len > WORD_MAX)
        return;
    const size_t distance = is_first_part(n->typed, word) ? 1 : distance_of(n->typed, word);
    if (distance >= n->distance)
        return;
    n->distance = distance;
    n->best = candidate;
}

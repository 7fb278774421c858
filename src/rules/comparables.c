/* Selects the comparable videos; viral.c computes the threshold from their views. */
#include "rules/comparables.h"

#include "base/check.h"
#include "rules/viral.h"

#include <stdlib.h>

enum err comparables_read(struct comparables *base, struct store *store, const struct step_rules *rules,
                          int64_t author_row, int64_t t_ms)
{
    CHECK(rules->compare_last >= COMPARE_LAST_MIN && rules->compare_last <= COMPARE_LAST_MAX);
    const size_t compared = (size_t)rules->compare_last;
    enum err err = store_list_comparables(store, author_row, t_ms - rules->compare_min_age_ms,
                                          (int)compared + 1, base->videos, &base->count);
    if (err)
        return err;
    base->extra_row = base->count > compared ? base->videos[compared].video_row : 0;
    return OK;
}

static int by_views(const void *a, const void *b)
{
    const struct comparable *x = a, *y = b;
    return (x->views > y->views) - (x->views < y->views);
}

void comparables_sort(struct comparables *base)
{
    qsort(base->videos, base->count, sizeof base->videos[0], by_views);
    for (size_t i = 0; i < base->count; i++)
        base->views[i] = base->videos[i].views;
}

static size_t find_row(const struct comparables *base, int64_t video_row)
{
    for (size_t i = 0; i < base->count; i++)
        if (base->videos[i].video_row == video_row)
            return i;
    return SKIP_NONE;
}

struct viral_comparison comparables_compare(const struct comparables *base, const struct step_rules *rules,
                                            int64_t video_row)
{
    size_t skip = find_row(base, video_row);
    if (skip == SKIP_NONE && base->extra_row)
        skip = find_row(base, base->extra_row);
    return viral_comparison_of(base->views, base->count, skip, rules);
}

/* An author's comparable videos at one time, read once and sorted once: the viral line of each of the
 * author's videos at that time follows from them (decision 4, points 1 to 3). */
#ifndef VT_RULES_COMPARABLES_H
#define VT_RULES_COMPARABLES_H

#include "rules/rule_settings.h"
#include "store/write.h"

/* Row number of a video that is not in the database yet. */
#define NEW_VIDEO_ROW INT64_C(0)

struct comparables {
    size_t count;
    int64_t extra_row; /* the oldest of `videos` when there is one more than is compared; else 0 */
    struct comparable videos[COMPARE_LAST_MAX + 1]; /* newest first; by views after comparables_sort() */
    int64_t views[COMPARE_LAST_MAX + 1];            /* ascending after comparables_sort() */
};

/* Reads one video more than is compared, because a video is never compared with itself. The caller may then
 * replace the views of `videos` by newer ones, and has to call comparables_sort() before it asks for a line.
 * Needs an open transaction. */
MUST_USE enum err comparables_read(struct comparables *base, struct store *store,
                                   const struct step_rules *rules, int64_t author_row, int64_t t_ms);
void comparables_sort(struct comparables *base);
struct viral_comparison comparables_compare(const struct comparables *base, const struct step_rules *rules,
                                            int64_t video_row);

#endif

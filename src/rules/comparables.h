/* The videos with which an author's videos are compared to find viral ones: recent videos that are old
 * enough. A step reads and sorts them once for each time at which its videos have their newest reading,
 * usually once. */
#ifndef VT_RULES_COMPARABLES_H
#define VT_RULES_COMPARABLES_H

#include "rules/rule_settings.h"
#include "store/write.h"

/* The row of a video that is not in the database yet. */
#define NEW_VIDEO_ROW INT64_C(0)

struct comparables {
    size_t count;
    int64_t extra_row; /* row of the oldest video if there are compare_last + 1 `videos`, otherwise 0. The
                          oldest one is left out if the compared video is not among `videos` */
    struct comparable videos[COMPARE_LAST_MAX + 1]; /* the comparable videos: newest first; after
                                                       comparables_sort(), ascending by views */
    int64_t views[COMPARE_LAST_MAX + 1];            /* ascending after comparables_sort() */
};

/* Reads the comparable videos at the time `t_ms`: at most compare_last, and one more, because the compared
 * video may be among them and is then left out. The caller may replace the views of `videos` with newer ones.
 * Call comparables_sort() before comparables_compare(). Needs an open transaction. */
MUST_USE enum err comparables_read(struct comparables *base, struct store *store,
                                   const struct step_rules *rules, int64_t author_row, int64_t t_ms);

/* Sorts `videos` by views, ascending, and sets `views`. */
void comparables_sort(struct comparables *base);

/* Returns the median of the views of the author's other videos, and the threshold computed from it. The
 * video `video_row` is viral if its views reach the threshold. */
struct viral_comparison comparables_compare(const struct comparables *base, const struct step_rules *rules,
                                            int64_t video_row);

#endif

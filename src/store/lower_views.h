/* Lowers the views of a post, when an operator corrects a wrong reading. The rules of write.h apply. */
#ifndef VT_STORE_LOWER_VIEWS_H
#define VT_STORE_LOWER_VIEWS_H

#include "store/write.h"

/* The result of a correction. */
struct lowered_views {
    int64_t before;        /* views of the post before the correction */
    int64_t from_days;     /* views subtracted from gains, beginning with the newest day */
    int64_t from_baseline; /* views subtracted from the baseline */
    int64_t events;        /* events that report more views than the video has now; they stay in the feed */
};

/* Sets the views of video->posts[post] to `views`, which must be lower, and updates `video`. Afterwards
 * video->days points into the arena. Subtracts the difference from the gains, beginning with the newest day,
 * and then from the baseline. Milestones and viral data do not change. */
MUST_USE enum err store_lower_views(struct store *s, struct arena *a, struct video *video, size_t post,
                                    int64_t views, struct lowered_views *out);

#endif

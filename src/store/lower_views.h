/* Lowers the count of a post, for an operator's correction of a wrong reading. The rules of write.h apply. */
#ifndef VT_STORE_LOWER_VIEWS_H
#define VT_STORE_LOWER_VIEWS_H

#include "store/write.h"

/* What a correction took, and what it leaves although the video has fewer views now. */
struct lowered_views {
    int64_t before;        /* views of the post */
    int64_t from_days;     /* taken from gains, the newest first */
    int64_t from_baseline; /* the rest */
    int64_t events;        /* events with a number above the video's new views; they stay in the feed */
};

/* Sets the views of video->posts[post] to `views`, which must be lower, and updates `video`; video->days is
 * then in the arena. Takes the difference from the newest days with a gain, then from the baseline.
 * Milestones and viral data do not change. */
MUST_USE enum err store_lower_views(struct store *s, struct arena *a, struct video *video, size_t post,
                                    int64_t views, struct lowered_views *out);

#endif

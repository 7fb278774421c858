/* A model of how the views of a video grow, for the simulated source. A pure function of the video, the time
 * and a seed, in integers: every machine computes the same counts.
 *
 * Each video approaches a size of its own: the author's typical video times a factor that few videos have
 * much of. It grows fast when young and slower later, following the hours of the day; beyond its size it only
 * trickles. Now and then a video goes viral: within six readings it exceeds its viral threshold. */
#ifndef VT_REFRESH_GROWTH_H
#define VT_REFRESH_GROWTH_H

#include "store/model.h"

struct growth_moment {
    int64_t now_ms;
    int64_t interval_ms; /* between two readings, in which a video grows by about an hour's views */
    uint64_t seed;
    int64_t live; /* live videos of the author: the more, the less likely it is that this one goes viral */
};

/* Whether the video is about to exceed its viral threshold. */
bool growth_is_viral(const struct video *video, const struct growth_moment *m);

/* Computes the counts of each post: counts[post][kind]; COUNT_NONE if its platform does not provide that
 * count. Counts never fall, and never get so large that the video could exceed COUNT_MAX, unless they are
 * already. */
void growth_compute(const struct video *video, const struct growth_moment *m,
                    int64_t counts[PLATFORM_COUNT][COUNT_KINDS]);

#endif

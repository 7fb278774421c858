/* Models how the views of a video grow, for the simulated source. The counts are a pure function of the
 * video, the time and a seed. The model uses only integers, so every machine computes the same counts.
 *
 * Each video approaches its own final size: the author's typical views times a random factor, which is rarely
 * large. A young video grows fast, an older one more slowly, and growth follows the hours of the day. After
 * reaching its size, the video gains only a few views a day. Occasionally a video goes viral: within six
 * readings it exceeds its viral threshold. */
#ifndef VT_REFRESH_GROWTH_H
#define VT_REFRESH_GROWTH_H

#include "store/model.h"

struct growth_moment {
    int64_t now_ms;
    int64_t interval_ms; /* time between two readings. A shorter interval makes a video grow faster: it gains
                            about the same from one reading to the next. */
    uint64_t seed;
    int64_t live; /* number of live videos of the author; with more videos, each one goes viral less often */
};

/* Returns true while the video is in a viral phase, in which it will exceed its viral threshold. */
bool growth_is_viral(const struct video *video, const struct growth_moment *m);

/* Computes the new counts of each post, counts[post][kind]. A count that the platform does not provide is
 * COUNT_NONE. Counts never fall. The views of a post grow to at most COUNT_MAX / 8, so that the video's sum
 * cannot exceed COUNT_MAX; a post with more views stays unchanged. */
void growth_compute(const struct video *video, const struct growth_moment *m,
                    int64_t counts[PLATFORM_COUNT][COUNT_KINDS]);

#endif

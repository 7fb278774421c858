/* How a made-up video gathers views: believable, and a pure function of the video as it is, the time and a
 * seed. Integers only, so every machine and compiler makes up the same. For the simulated source.
 *
 * A video of an author grows towards a size of its own: the author's typical video times its luck, which few
 * have much of. It gets there fast when it is young and ever slower later, with the hours of the day and some
 * noise; beyond its size views only trickle. Each platform has its share of the views, its pace, and its own
 * likes, comments, shares and saves for them; what a platform does not tell stays unknown. Counts never fall.
 *
 * Now and then one video of an author takes off: within a few readings it goes over its viral line. */
#ifndef VT_REFRESH_GROWTH_H
#define VT_REFRESH_GROWTH_H

#include "store/model.h"

struct growth_moment {
    int64_t now_ms;
    int64_t interval_ms; /* between two readings, in which a video grows by about an hour's views */
    uint64_t seed;
};

/* The take-off that may be under way among the live videos of an author. */
struct take_off {
    int64_t window;    /* the number of the stretch of time that one video has */
    int64_t step;      /* which reading of it this is, from 0 */
    uint64_t least;    /* of the candidates' lots */
    struct uuid video; /* whose lot that is */
    int64_t live, viral;
};

/* Hand in every live video, in any order; the draw is then made. */
void take_off_begin(struct take_off *t, const struct growth_moment *m);
void take_off_add(struct take_off *t, const struct growth_moment *m, const struct video *video);
/* Whether that video is the one that takes off now. */
bool take_off_is(const struct take_off *t, const struct growth_moment *m, const struct video *video);

/* What each post of the video shows now: counts[post][kind], COUNT_NONE for what its platform does not tell.
 * Never below what is known and never so high that the video could exceed COUNT_MAX, unless it is there
 * already. `take_off` NULL: it does not take off. */
void growth_of(const struct video *video, const struct growth_moment *m, const struct take_off *take_off,
               int64_t counts[PLATFORM_COUNT][COUNT_KINDS]);

#endif

/* Collects the readings of a run until they are applied.
 *
 * All readings of one author form one step with one timestamp, so they are collected until the results of the
 * author's posts at all platforms are known. If a platform is slow, the step is applied without the readings
 * of this platform two minutes after the last response, or earlier if more than 50,000 readings wait.
 * Readings that arrive later form a step of their own. Two minutes are longer than a call with all its
 * retries normally takes, and short compared with the hour between two runs. Readings that are not applied
 * yet are lost if the process ends. */
#ifndef VT_FETCH_RESULTS_H
#define VT_FETCH_RESULTS_H

#include "base/vec.h"
#include "fetch/walk_position.h"
#include "refresh/run.h"

/* The readings of one author; if the walks make two passes, only the readings of one pass. */
struct author_results {
    struct walk_position at; /* position of the author in the walk */
    int open_groups;         /* number of platforms that still have pending posts of the author */
    int64_t responded_at;    /* wall clock of the last response; TIME_NONE: none yet */
    int64_t responded_mono;  /* the same time on the monotonic clock */
    VEC(struct reading) readings;
    VEC(int64_t) video_posted_at; /* parallel to readings */
};

struct result_set {
    struct run *run;
    VEC(struct author_results *) authors; /* in the order of the walk */
    size_t waiting;                       /* number of readings that are not applied */
    size_t unflushed;                     /* number of readings that the run has queued but not flushed */
};

/* Returns the results for the position `at` of the walk; creates them if needed. */
struct author_results *result_set_get(struct result_set *set, const struct walk_position *at);

/* Adds a reading, observed now. The author's readings are applied with the time of the author's last
 * response. If that is more than 30 days after `video_posted_at`, the reading is dropped instead. */
void result_set_add(struct result_set *set, struct author_results *results, int64_t video_posted_at,
                    const struct reading *reading);

/* Applies the results that are complete or have waited long enough. With `all`, applies all results. */
MUST_USE enum err result_set_apply(struct result_set *set, const struct walk_progress *progress, bool all);

void result_set_free(struct result_set *set);

#endif

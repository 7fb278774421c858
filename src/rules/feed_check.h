/* Compares the event feed of one author with the milestones and viral marks of the author's videos.
 *
 *   feed_check_begin(&check, history_start_ms, fn, ctx);
 *   for each event:                    feed_check_add_event(&check, &event);
 *   for each video, by ascending row:  feed_check_video(&check, &video);
 *   feed_check_end(&check);
 *
 * A milestone or viral mark needs an event unless it is older than the start of the history, or the baseline
 * of an import alone has reached it. The database does not record which milestones the baseline has reached.
 * So if a video has a baseline, a missing event counts as undecided, not as a difference. */
#ifndef VT_RULES_FEED_CHECK_H
#define VT_RULES_FEED_CHECK_H

#include "base/vec.h"
#include "store/model.h"

enum feed_problem {
    FEED_EVENT_MISSING,   /* the video has reached a milestone or gone viral, but the feed has no event */
    FEED_MARK_MISSING,    /* the feed has an event for which the video has no milestone or viral mark */
    FEED_EVENT_DIFFERS,   /* the time or the numbers of the event differ from those of the video */
    FEED_EVENT_DUPLICATE, /* an earlier event reports the same milestone, or the same viral mark */
    FEED_VIDEO_MISSING,   /* the author has no such video */
};

struct feed_difference {
    enum feed_problem problem;
    const struct video *video; /* NULL for FEED_VIDEO_MISSING */
    enum event_type type;
    int64_t value;    /* the milestone, or the views when the video went viral */
    int64_t event_id; /* 0 for FEED_EVENT_MISSING */
};
typedef void (*feed_difference_fn)(void *ctx, const struct feed_difference *difference);

struct feed_check {
    int64_t history_start;
    feed_difference_fn fn;
    void *ctx;
    VEC(struct event) events; /* sorted by video, type, value and id when the first video is checked */
    size_t next;              /* index of the first event that has not been compared */
    bool is_sorted;
    int64_t videos, undecided;
};

/* Begins the check of an author. `*c` must be zeroed before the first author. Calls `fn` for each difference.
 */
void feed_check_begin(struct feed_check *c, int64_t history_start_ms, feed_difference_fn fn, void *ctx);
void feed_check_add_event(struct feed_check *c, const struct event *event);
/* Compares one video with its events. Call with all videos of the author, by ascending row. */
void feed_check_video(struct feed_check *c, const struct video *video);
/* Reports the events that belong to no video. Keeps the allocated memory for the next author. */
void feed_check_end(struct feed_check *c);
/* Frees the memory. */
void feed_check_fini(struct feed_check *c);

/* Returns the problem as a static text for people. */
struct str feed_problem_text(enum feed_problem problem);

#endif

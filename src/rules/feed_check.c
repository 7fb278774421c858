/* Compares two sorted lists in one pass: the events of a video, and the viral mark and milestones of the
 * video. Reports each entry that is missing from one of the lists, differs, or occurs twice. */
#include "rules/feed_check.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

struct str feed_problem_text(enum feed_problem problem)
{
    switch (problem) {
    case FEED_EVENT_MISSING: return STR("the event is missing");
    case FEED_MARK_MISSING: return STR("the video has no such milestone or viral mark");
    case FEED_EVENT_DIFFERS: return STR("time or numbers differ from those of the video");
    case FEED_EVENT_DUPLICATE: return STR("repeats an earlier event");
    case FEED_VIDEO_MISSING: return STR("the author has no such video");
    }
    return STR("");
}

void feed_check_begin(struct feed_check *c, int64_t history_start_ms, feed_difference_fn fn, void *ctx)
{
    c->history_start = history_start_ms;
    c->fn = fn;
    c->ctx = ctx;
    c->events.count = 0;
    c->next = 0;
    c->is_sorted = false;
}

void feed_check_fini(struct feed_check *c)
{
    VEC_FREE(&c->events);
}

void feed_check_add_event(struct feed_check *c, const struct event *event)
{
    CHECK(!c->is_sorted);
    *VEC_ADD(&c->events) = *event;
}

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Returns the milestone of an event, or 0 for a viral event, because a video goes viral only once. */
static int64_t milestone_of(const struct event *event)
{
    return event->type == EVENT_MILESTONE_REACHED ? event->value : 0;
}

static int by_video(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    int order = compare_i64(x->video_row, y->video_row);
    if (!order)
        order = compare_i64(x->type, y->type);
    if (!order)
        order = compare_i64(milestone_of(x), milestone_of(y));
    return order ? order : compare_i64(x->id, y->id);
}

static void sort_events(struct feed_check *c)
{
    if (!c->is_sorted && c->events.count)
        qsort(c->events.items, c->events.count, sizeof c->events.items[0], by_video);
    c->is_sorted = true;
}

static void report(struct feed_check *c, enum feed_problem problem, const struct video *video,
                   const struct event *event)
{
    const struct feed_difference difference = {.problem = problem,
                                               .video = video,
                                               .type = event->type,
                                               .value = event->value,
                                               .event_id = event->id};
    c->fn(c->ctx, &difference);
}

static void report_missing(struct feed_check *c, const struct video *video, const struct event *expected,
                           int64_t latest_ms)
{
    if (latest_ms < c->history_start)
        return;
    if (video->baseline)
        c->undecided++;
    else
        report(c, FEED_EVENT_MISSING, video, expected);
}

/* Returns the next event of the video and type, or NULL. */
static const struct event *peek(const struct feed_check *c, const struct video *video, enum event_type type)
{
    const struct event *event = c->next < c->events.count ? &c->events.items[c->next] : NULL;
    return event && event->video_row == video->row && event->type == type ? event : NULL;
}

/* Reports and skips the events that repeat `event`. */
static void skip_duplicates(struct feed_check *c, const struct video *video, const struct event *event)
{
    const struct event *next;
    while ((next = peek(c, video, event->type)) && milestone_of(next) == milestone_of(event)) {
        report(c, FEED_EVENT_DUPLICATE, video, next);
        c->next++;
    }
}

static void check_viral(struct feed_check *c, const struct video *video)
{
    const bool is_viral = video->went_viral_at != TIME_NONE;
    const struct event expected = {.type = EVENT_WENT_VIRAL, .value = video->views_when_viral};
    const struct event *event = peek(c, video, EVENT_WENT_VIRAL);
    /* went_viral_at is rounded down to a full hour. history_start is a full hour, too, so the rounding cannot
     * move went_viral_at across it. */
    if (!event && is_viral)
        report_missing(c, video, &expected, video->went_viral_at);
    if (!event)
        return;
    c->next++;
    if (!is_viral)
        report(c, FEED_MARK_MISSING, video, event);
    else if (event->occurred_at - event->occurred_at % HOUR_MS != video->went_viral_at ||
             event->value != video->views_when_viral || event->threshold != video->viral.threshold ||
             event->median != video->viral.median)
        report(c, FEED_EVENT_DIFFERS, video, event);
    skip_duplicates(c, video, event);
}

static void check_milestone(struct feed_check *c, const struct video *video,
                            const struct milestone *milestone)
{
    const struct event expected = {.type = EVENT_MILESTONE_REACHED, .value = milestone->value};
    const struct event *event;
    while ((event = peek(c, video, EVENT_MILESTONE_REACHED)) && event->value < milestone->value) {
        report(c, FEED_MARK_MISSING, video, event);
        c->next++;
    }
    if (!event || event->value != milestone->value) {
        report_missing(c, video, &expected, milestone->reached_at);
        return;
    }
    c->next++;
    if (event->occurred_at != milestone->reached_at)
        report(c, FEED_EVENT_DIFFERS, video, event);
    skip_duplicates(c, video, event);
}

static void report_events_before(struct feed_check *c, int64_t video_row)
{
    for (; c->next < c->events.count && c->events.items[c->next].video_row < video_row; c->next++)
        report(c, FEED_VIDEO_MISSING, NULL, &c->events.items[c->next]);
}

void feed_check_video(struct feed_check *c, const struct video *video)
{
    const struct event *event;
    sort_events(c);
    c->videos++;
    report_events_before(c, video->row);
    check_viral(c, video);
    for (size_t i = 0; i < video->milestone_count; i++)
        check_milestone(c, video, &video->milestones[i]);
    while ((event = peek(c, video, EVENT_MILESTONE_REACHED))) {
        report(c, FEED_MARK_MISSING, video, event);
        c->next++;
    }
}

void feed_check_end(struct feed_check *c)
{
    sort_events(c);
    report_events_before(c, INT64_MAX);
}

/* Checks each rule with a condition of its own, so that the reason names the rule that is violated. */
#include "import/export_check.h"

#include "base/clock.h"
#include "import/author_export.h"
#include "rules/milestones.h"
#include "rules/rule_settings.h"
#include "rules/viral.h"

enum { VIEWS_SOURCE_MAX = 255, FUTURE_MS = 60 * 1000 };

static int64_t time_or_none(const struct field *field)
{
    return field->given == GIVEN_VALUE ? field->time_ms : TIME_NONE;
}

static int64_t count_or_none(const struct field *field)
{
    return field->given == GIVEN_VALUE ? field->count : COUNT_NONE;
}

static bool is_set(const struct field *field)
{
    return field->given == GIVEN_VALUE && field->flag;
}

const char *export_check_posts(const struct video_record *record)
{
    for (size_t i = 0; i < record->post_count; i++) {
        const struct post_record *post = &record->posts[i];
        if (post->post_id.given != GIVEN_VALUE || post->posted_at.given != GIVEN_VALUE ||
            post->url.given == GIVEN_NOT)
            return "a post lacks post_id, url or posted_at";
        if (i && post->platform.platform <= record->posts[i - 1].platform.platform)
            return "the posts are not in the order tiktok, instagram, youtube, facebook, pinterest";
    }
    return NULL;
}

/* ---- the state of a video ---- */

static const char *check_post_state(const struct exported_post *record, struct video *video,
                                    struct post *post)
{
    if (record->platform.platform != post->platform)
        return "the posts of the state differ from the posts of the video";
    post->updated_at = time_or_none(&record->updated_at);
    for (int k = 0; k < COUNT_KINDS; k++)
        post->counts[k] = count_or_none(&record->counts[k]);
    if (post->updated_at == TIME_NONE && post->counts[COUNT_VIEWS] != COUNT_NONE)
        return "a post has views, but no views_updated_at";
    if (post->updated_at > video->updated_at)
        return "a post has a later views_updated_at than the video";
    if (record->views_source.given == GIVEN_VALUE && record->views_source.count > VIEWS_SOURCE_MAX)
        return "views_source is too large";
    if (post->counts[COUNT_VIEWS] > 0)
        video->views += post->counts[COUNT_VIEWS];
    return NULL;
}

static const char *check_times(const struct video *video, int64_t now)
{
    if ((video->first_reading_at == TIME_NONE) != (video->updated_at == TIME_NONE))
        return "first_reading_at and views_updated_at must both be null or both be times";
    if (video->first_reading_at > video->updated_at)
        return "first_reading_at is after views_updated_at";
    return video->updated_at > now + FUTURE_MS ? "views_updated_at is in the future" : NULL;
}

static const char *check_viral(const struct exported_state *state, const struct video *video, bool corrected)
{
    const bool is_viral = video->went_viral_at != TIME_NONE;
    if (is_viral != (state->views_when_viral.given == GIVEN_VALUE))
        return "went_viral_at and views_when_viral must both be null or both be given";
    if (video->viral.compared > COMPARE_LAST_MAX)
        return "compared_videos is too large";
    if ((video->viral.median == COUNT_NONE) != (video->viral.compared < COMPARE_LEAST))
        return "author_median_views is null with 5 or more compared_videos, or a number with fewer";
    if (!is_viral && !video->baseline_pending && video->views >= video->viral.threshold)
        return "the views reach the threshold, but went_viral_at is null";
    if (!is_viral)
        return NULL;
    if (video->went_viral_at > video->updated_at)
        return "went_viral_at is after views_updated_at";
    if (video->views_when_viral < video->viral.threshold)
        return "views_when_viral is below the threshold";
    return !corrected && video->views_when_viral > video->views ? "views_when_viral is above the views"
                                                                : NULL;
}

static const char *check_milestones(const struct exported_state *state, struct video *video, bool corrected)
{
    const struct exported_milestone *items = state->milestones.items;
    int64_t values[MILESTONES_MAX];
    for (size_t i = 0; i < state->milestones.count; i++) {
        const struct milestone m = {items[i].value.count, items[i].reached_at.time_ms};
        if (m.value < 1 || milestones_between(m.value - 1, m.value, values) != 1)
            return "a milestone is not one of 1000, 10000, 50000, 100000 and so on";
        if (i && m.value <= video->milestones[i - 1].value)
            return "the milestones do not ascend";
        if (m.reached_at > video->updated_at)
            return "a milestone was reached after views_updated_at";
        if (i && m.reached_at < video->milestones[i - 1].reached_at)
            return "a milestone was reached earlier than a lower milestone";
        if (!corrected && m.value > video->views)
            return "a milestone is above the views";
        video->milestones[video->milestone_count++] = m;
    }
    return NULL;
}

static void copy_state(const struct exported_state *state, struct video *video)
{
    video->baseline = state->baseline.count;
    video->first_reading_at = time_or_none(&state->first_reading_at);
    video->updated_at = time_or_none(&state->updated_at);
    video->viral = (struct viral_comparison){.threshold = state->threshold.count,
                                             .median = count_or_none(&state->median),
                                             .compared = state->compared.count};
    video->went_viral_at = time_or_none(&state->went_viral_at);
    video->views_when_viral =
        state->views_when_viral.given == GIVEN_VALUE ? state->views_when_viral.count : 0;
    video->baseline_pending = is_set(&state->baseline_pending);
}

const char *export_check_state(const struct exported_state *state, struct video *video, int64_t now)
{
    const struct exported_post *posts = state->posts.items;
    const bool corrected = is_set(&state->corrected);
    const char *why;
    copy_state(state, video);
    if (!uuid_eq(&state->video_id.id, &video->id))
        return "video_id is not the id of the video in the line before";
    if (state->posts.count != video->post_count)
        return "the posts of the state differ from the posts of the video";
    if ((why = check_times(video, now)) != NULL)
        return why;
    for (size_t i = 0; i < video->post_count; i++)
        if ((why = check_post_state(&posts[i], video, &video->posts[i])) != NULL)
            return why;
    if ((why = check_viral(state, video, corrected)) != NULL ||
        (why = check_milestones(state, video, corrected)) != NULL)
        return why;
    return corrected && !export_is_corrected(video)
               ? "corrected is true, but neither a milestone nor views_when_viral is above the views"
               : NULL;
}

const char *export_check_days(const struct exported_state *state, const struct video *video,
                              struct day_gain *days)
{
    const struct exported_day *items = state->days.items;
    int64_t total = 0;
    if (video->baseline > video->views)
        return "baseline is above the views";
    for (size_t i = 0; i < state->days.count; i++) {
        const int32_t date = items[i].date.date;
        const int64_t gained = items[i].gained.count;
        if (i && date <= items[i - 1].date.date)
            return "the days do not ascend";
        if (video->first_reading_at == TIME_NONE || date < date_of(video->first_reading_at) ||
            date > date_of(video->updated_at))
            return "a day is before the first reading or after the last one";
        if (!gained)
            return "a day has no views";
        if (gained > video->views - video->baseline - total)
            return "baseline and the days sum up to more than the views of the posts";
        total += gained;
        days[i] = (struct day_gain){.date = date, .gained = gained, .gained_total = total};
    }
    return total != video->views - video->baseline
               ? "baseline and the days sum up to less than the views of the posts"
               : NULL;
}

/* ---- events ---- */

static const char *check_viral_event(const struct exported_event *record, const struct video *video,
                                     struct event *event)
{
    event->type = EVENT_WENT_VIRAL;
    event->value = record->views.count;
    event->threshold = record->threshold.count;
    event->median = count_or_none(&record->median);
    if (record->views.given != GIVEN_VALUE || record->threshold.given != GIVEN_VALUE ||
        record->median.given == GIVEN_NOT || record->milestone.given != GIVEN_NOT)
        return "video.went_viral needs views, threshold and author_median_views, and no milestone";
    if (video->went_viral_at == TIME_NONE ||
        event->occurred_at - event->occurred_at % HOUR_MS != video->went_viral_at ||
        event->value != video->views_when_viral || event->threshold != video->viral.threshold ||
        event->median != video->viral.median)
        return "the event differs from the state of its video";
    return NULL;
}

static const char *check_milestone_event(const struct exported_event *record, const struct video *video,
                                         struct event *event)
{
    event->type = EVENT_MILESTONE_REACHED;
    event->value = record->milestone.count;
    event->median = COUNT_NONE;
    if (record->milestone.given != GIVEN_VALUE || record->views.given != GIVEN_NOT ||
        record->threshold.given != GIVEN_NOT || record->median.given != GIVEN_NOT)
        return "video.milestone_reached needs a milestone, and no views, threshold or author_median_views";
    for (size_t i = 0; i < video->milestone_count; i++)
        if (video->milestones[i].value == event->value &&
            video->milestones[i].reached_at == event->occurred_at)
            return NULL;
    return "the event is not among the milestones of its video";
}

const char *export_check_event(const struct exported_event *record, const struct video *video,
                               struct event *event)
{
    event->occurred_at = record->occurred_at.time_ms;
    event->video_row = video->row;
    event->author_row = video->author_row;
    if (str_eq(record->type.text, STR("video.went_viral")))
        return check_viral_event(record, video, event);
    if (str_eq(record->type.text, STR("video.milestone_reached")))
        return check_milestone_event(record, video, event);
    return "event is not video.went_viral or video.milestone_reached";
}

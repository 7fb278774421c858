/* Renders records of the store as JSON. */
#include "api/render.h"

#include "base/number.h"

struct str render_title(struct str title, const struct book_ref *book)
{
    if (title.p)
        return title;
    return book->title.p ? book->title : UNTITLED;
}

static void render_book_ref(struct buf *b, const struct book_ref *book)
{
    if (!book->title.p) {
        JSON_NULL(b, "book");
        return;
    }
    JSON_KEY(b, "book");
    json_open(b, '{');
    JSON_UUID(b, "id", &book->id);
    JSON_STR(b, "title", book->title);
    json_close(b, '}');
}

static void render_identity(struct buf *b, const struct video_ref *video, const struct book_ref *book,
                            bool with_thumbnail)
{
    JSON_UUID(b, "id", &video->id);
    JSON_STR(b, "title", render_title(video->title, book));
    if (with_thumbnail)
        JSON_STR(b, "thumbnail_url", video->thumbnail_url);
    render_book_ref(b, book);
    JSON_TIME(b, "posted_at", video->posted_at);
}

void render_stats_video(struct buf *b, const struct video_ref *video, const struct book_ref *book)
{
    json_open(b, '{');
    render_identity(b, video, book, false);
    json_close(b, '}');
}

void render_event_video(struct buf *b, const struct video_ref *video, const struct book_ref *book)
{
    json_open(b, '{');
    render_identity(b, video, book, true);
    JSON_KEY(b, "posts");
    json_open(b, '[');
    for (size_t i = 0; i < video->post_count; i++) {
        json_open(b, '{');
        JSON_STR(b, "platform", platform_name(video->posts[i].platform));
        JSON_STR(b, "url", video->posts[i].url);
        json_close(b, '}');
    }
    json_close(b, ']');
    json_close(b, '}');
}

static int64_t count_or_zero(int64_t count)
{
    return count == COUNT_NONE ? 0 : count;
}

static void render_post(struct buf *b, const struct post *post)
{
    json_open(b, '{');
    JSON_STR(b, "platform", platform_name(post->platform));
    JSON_STR(b, "url", post->url);
    JSON_I64(b, "views", count_or_zero(post->counts[COUNT_VIEWS]));
    JSON_I64(b, "likes", count_or_zero(post->counts[COUNT_LIKES]));
    JSON_I64(b, "comments", count_or_zero(post->counts[COUNT_COMMENTS]));
    JSON_I64(b, "shares", count_or_zero(post->counts[COUNT_SHARES]));
    JSON_I64(b, "saves", count_or_zero(post->counts[COUNT_SAVES]));
    JSON_TIME(b, "posted_at", post->posted_at);
    JSON_TIME_OR_NULL(b, "views_updated_at", post->updated_at != TIME_NONE, post->updated_at);
    json_close(b, '}');
}

static void render_viral(struct buf *b, const struct video *video)
{
    bool viral = video->went_viral_at != TIME_NONE;
    json_open(b, '{');
    JSON_BOOL(b, "is_viral", viral);
    JSON_TIME_OR_NULL(b, "went_viral_at", viral, video->went_viral_at);
    JSON_I64_OR_NULL(b, "views_when_viral", viral, video->views_when_viral);
    JSON_I64(b, "threshold", video->viral.threshold);
    JSON_I64_OR_NULL(b, "author_median_views", video->viral.median != COUNT_NONE, video->viral.median);
    JSON_I64(b, "compared_videos", video->viral.compared);
    json_close(b, '}');
}

static void render_milestone(struct buf *b, const struct milestone *milestone)
{
    json_open(b, '{');
    JSON_I64(b, "views", milestone->value);
    JSON_TIME(b, "reached_at", milestone->reached_at);
    json_close(b, '}');
}

/* Returns the last wall clock time in ms at which the video is not final yet. */
static int64_t last_open_ms(const struct video *video)
{
    return video->posted_at + VIDEO_LIFE_DAYS * (int64_t)DAY_MS;
}

int64_t render_valid_until(const struct video *video, int64_t now_ms)
{
    return now_ms > last_open_ms(video) ? INT64_MAX : last_open_ms(video) + 1;
}

static int64_t total_of(const struct video *video, enum count_kind kind)
{
    int64_t sum = 0;
    for (size_t i = 0; i < video->post_count; i++)
        sum += count_or_zero(video->posts[i].counts[kind]);
    return sum;
}

void render_video(struct buf *b, const struct video *video, const struct book_ref *book, int64_t now_ms)
{
    const struct video_ref ref = video_ref_of(video);
    json_open(b, '{');
    render_identity(b, &ref, book, true);
    JSON_I64(b, "views", video->views);
    JSON_I64(b, "likes", total_of(video, COUNT_LIKES));
    JSON_I64(b, "comments", total_of(video, COUNT_COMMENTS));
    JSON_I64(b, "shares", total_of(video, COUNT_SHARES));
    JSON_I64(b, "saves", total_of(video, COUNT_SAVES));
    JSON_TIME_OR_NULL(b, "views_updated_at", video->updated_at != TIME_NONE, video->updated_at);
    JSON_BOOL(b, "views_final", now_ms > last_open_ms(video));
    JSON_KEY(b, "platforms");
    json_open(b, '[');
    for (size_t i = 0; i < video->post_count; i++)
        render_post(b, &video->posts[i]);
    json_close(b, ']');
    JSON_KEY(b, "viral");
    render_viral(b, video);
    JSON_KEY(b, "milestones");
    json_open(b, '[');
    for (size_t i = 0; i < video->milestone_count; i++)
        render_milestone(b, &video->milestones[i]);
    json_close(b, ']');
    json_close(b, '}');
}

void render_event_id(struct buf *b, int64_t id)
{
    char text[4 + 20] = "evt_";
    json_str(b, str_make(text, 4 + i64_format(id, text + 4)));
}

const char *const render_event_types[] = {
    [EVENT_WENT_VIRAL] = "video.went_viral", [EVENT_MILESTONE_REACHED] = "video.milestone_reached", NULL};

void render_event(struct buf *b, const struct event *event, const struct video_ref *video,
                  const struct book_ref *book)
{
    json_open(b, '{');
    JSON_KEY(b, "id");
    render_event_id(b, event->id);
    JSON_STR(b, "type", str_from_cstr(render_event_types[event->type]));
    JSON_TIME(b, "occurred_at", event->occurred_at);
    JSON_KEY(b, "video");
    render_event_video(b, video, book);
    if (event->type == EVENT_WENT_VIRAL) {
        JSON_I64(b, "views", event->value);
        JSON_I64(b, "threshold", event->threshold);
        JSON_I64_OR_NULL(b, "author_median_views", event->median != COUNT_NONE, event->median);
    } else {
        JSON_I64(b, "milestone", event->value);
    }
    json_close(b, '}');
}

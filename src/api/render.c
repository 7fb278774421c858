/* Renders records. Knows the contract's field order and nothing of where a record comes from. */
#include "api/render.h"

#include "base/clock.h"

struct str render_title(const struct video *video, const struct book_ref *book)
{
    if (video->title.p)
        return video->title;
    return book->title.p ? book->title : STR("Untitled");
}

/* The most that a part takes: its constant text and the longest values. What test_render.c writes has these
 * lengths. */
enum {
    HEAD_ROOM = 24 + PUT_UUID_MAX,
    BOOK_ROOM = 24 + PUT_UUID_MAX, /* up to the title */
    COUNTS_ROOM = 240,
    POST_HEAD_ROOM = 40,
    POST_TAIL_ROOM = 240,
    VIRAL_ROOM = 240,
    MILESTONE_ROOM = 72,
    KEY_ROOM = 20,
};

/* A BookRef or null at `to`, which has BOOK_ROOM and room for `room` bytes behind it; as json_put_str()
 * otherwise. */
static char *put_book_ref(struct buf *b, char *to, const struct book_ref *book, size_t room)
{
    if (!book->title.p)
        return put_text(to, STR("null"));
    to = put_text(to, FIRST_KEY("id"));
    to = put_uuid(to, &book->id);
    to = put_text(to, NEXT_KEY("title"));
    to = json_put_str(b, to, book->title, 1 + room);
    return to ? put_char(to, '}') : NULL;
}

void render_book_ref(struct buf *b, const struct book_ref *book)
{
    char *to = json_member(b, STR("book"), BOOK_ROOM);
    if (to && (to = put_book_ref(b, to, book, 0)))
        json_end(b, to);
}

/* What all answers show of a video, from the brace on, and room for `room` bytes behind it; NULL when the
 * buffer failed. */
static char *put_shown(struct buf *b, const struct video *video, const struct book_ref *book,
                       bool with_thumbnail, size_t room)
{
    const size_t book_room = KEY_ROOM + BOOK_ROOM, time_room = KEY_ROOM + PUT_TIME_MAX + room;
    char *to = json_begin(b, HEAD_ROOM);
    if (!to)
        return NULL;
    to = put_uuid(put_text(to, FIRST_KEY("id")), &video->id);
    to = put_text(to, NEXT_KEY("title"));
    to = json_put_str(b, to, render_title(video, book), KEY_ROOM + book_room + time_room);
    if (to && with_thumbnail) {
        to = put_text(to, NEXT_KEY("thumbnail_url"));
        to = json_put_str(b, to, video->thumbnail_url, book_room + time_room);
    }
    if (!to || !(to = put_book_ref(b, put_text(to, NEXT_KEY("book")), book, time_room)))
        return NULL;
    return put_time(put_text(to, NEXT_KEY("posted_at")), video->posted_at);
}

void render_shown_video(struct buf *b, const struct video *video, const struct book_ref *book,
                        bool with_thumbnail)
{
    char *to = put_shown(b, video, book, with_thumbnail, 1);
    if (to)
        json_end(b, put_char(to, '}'));
}

static int64_t known(int64_t count)
{
    return count == COUNT_NONE ? 0 : count;
}

/* The time of a reading. One run reads many posts at a time. */
static char *put_read_at(char *to, int64_t t_ms)
{
    if (t_ms == TIME_NONE)
        return put_text(to, STR("null"));
    to = put_char(to, '"');
    time_format_again(t_ms, to);
    return put_char(to + TIME_TEXT_LEN, '"');
}

static void render_post(struct buf *b, const struct post *post)
{
    char *to = json_begin(b, POST_HEAD_ROOM);
    if (!to)
        return;
    to = put_text(to, FIRST_KEY("platform"));
    to = put_char(to, '"');
    to = put_text(to, platform_name(post->platform));
    to = put_char(to, '"');
    to = put_text(to, NEXT_KEY("url"));
    to = json_put_str(b, to, post->url, POST_TAIL_ROOM);
    if (!to)
        return;
    to = put_i64(put_text(to, NEXT_KEY("views")), known(post->counts[COUNT_VIEWS]));
    to = put_i64(put_text(to, NEXT_KEY("likes")), known(post->counts[COUNT_LIKES]));
    to = put_i64(put_text(to, NEXT_KEY("comments")), known(post->counts[COUNT_COMMENTS]));
    to = put_i64(put_text(to, NEXT_KEY("shares")), known(post->counts[COUNT_SHARES]));
    to = put_i64(put_text(to, NEXT_KEY("saves")), known(post->counts[COUNT_SAVES]));
    to = put_time(put_text(to, NEXT_KEY("posted_at")), post->posted_at);
    to = put_text(to, NEXT_KEY("views_updated_at"));
    to = put_read_at(to, post->updated_at);
    json_end(b, put_char(to, '}'));
}

static char *put_viral(char *to, const struct video *video)
{
    bool viral = video->went_viral_at != TIME_NONE;
    to = put_bool(put_text(to, FIRST_KEY("is_viral")), viral);
    to = put_time_or_null(put_text(to, NEXT_KEY("went_viral_at")), viral, video->went_viral_at);
    to = put_i64_or_null(put_text(to, NEXT_KEY("views_when_viral")), viral, video->views_when_viral);
    to = put_i64(put_text(to, NEXT_KEY("threshold")), video->line.threshold);
    to = put_text(to, NEXT_KEY("author_median_views"));
    to = put_i64_or_null(to, video->line.median != COUNT_NONE, video->line.median);
    to = put_i64(put_text(to, NEXT_KEY("compared_videos")), video->line.compared);
    return put_char(to, '}');
}

static char *put_milestones(char *to, const struct video *video)
{
    to = put_char(to, '[');
    for (size_t i = 0; i < video->milestone_count; i++) {
        if (i)
            to = put_char(to, ',');
        to = put_i64(put_text(to, FIRST_KEY("views")), video->milestones[i].value);
        to = put_time(put_text(to, NEXT_KEY("reached_at")), video->milestones[i].reached_at);
        to = put_char(to, '}');
    }
    return put_char(to, ']');
}

static int64_t last_moment(const struct video *video)
{
    return video->posted_at + VIDEO_LIFE_DAYS * (int64_t)DAY_MS;
}

int64_t render_valid_until(const struct video *video, int64_t now_ms)
{
    return now_ms > last_moment(video) ? INT64_MAX : last_moment(video) + 1;
}

struct totals {
    int64_t of[COUNT_KINDS];
};

static struct totals add_up(const struct video *video)
{
    struct totals sum = {{0}};
    for (size_t i = 0; i < video->post_count; i++)
        for (int kind = 0; kind < COUNT_KINDS; kind++)
            sum.of[kind] += known(video->posts[i].counts[kind]);
    return sum;
}

/* From the brace to the bracket in front of the posts. */
static void render_head(struct buf *b, const struct video *video, const struct book_ref *book, bool final)
{
    const struct totals sum = add_up(video);
    char *to = put_shown(b, video, book, true, COUNTS_ROOM);
    if (!to)
        return;
    to = put_i64(put_text(to, NEXT_KEY("views")), video->views);
    to = put_i64(put_text(to, NEXT_KEY("likes")), sum.of[COUNT_LIKES]);
    to = put_i64(put_text(to, NEXT_KEY("comments")), sum.of[COUNT_COMMENTS]);
    to = put_i64(put_text(to, NEXT_KEY("shares")), sum.of[COUNT_SHARES]);
    to = put_i64(put_text(to, NEXT_KEY("saves")), sum.of[COUNT_SAVES]);
    to = put_text(to, NEXT_KEY("views_updated_at"));
    to = put_read_at(to, video->updated_at);
    to = put_bool(put_text(to, NEXT_KEY("views_final")), final);
    json_end(b, put_text(to, STR(",\"platforms\":[")));
}

/* From the bracket behind the posts to the brace. */
static void render_tail(struct buf *b, const struct video *video)
{
    char *to = buf_reserve(b, 2 * KEY_ROOM + VIRAL_ROOM + video->milestone_count * MILESTONE_ROOM);
    if (!to)
        return;
    to = put_viral(put_text(to, STR("],\"viral\":")), video);
    to = put_milestones(put_text(to, NEXT_KEY("milestones")), video);
    json_end(b, put_char(to, '}'));
}

void render_video(struct buf *b, const struct video *video, const struct book_ref *book, int64_t now_ms)
{
    render_head(b, video, book, now_ms > last_moment(video));
    for (size_t i = 0; i < video->post_count; i++)
        render_post(b, &video->posts[i]);
    render_tail(b, video);
}

void render_event_id(struct buf *b, int64_t id)
{
    char text[4 + 20];
    memcpy(text, "evt_", 4);
    json_str(b, str_make(text, 4 + fmt_i64(text + 4, id)));
}

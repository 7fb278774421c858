/* render: a video is written as one field after the other gives it, whatever it holds, and fits or fails. */
#include "unit.h"
#include "lib/random.h"

#include <stdlib.h>

#include "api/render.h"

/* --- the plain way --- */

static int64_t known(int64_t count)
{
    return count == COUNT_NONE ? 0 : count;
}

static int64_t total_of(const struct video *video, enum count_kind kind)
{
    int64_t sum = 0;
    for (size_t i = 0; i < video->post_count; i++)
        sum += known(video->posts[i].counts[kind]);
    return sum;
}

static void plain_post(struct buf *b, const struct post *post)
{
    json_open(b, '{');
    JSON_STR(b, "platform", platform_name(post->platform));
    JSON_STR(b, "url", post->url);
    JSON_I64(b, "views", known(post->counts[COUNT_VIEWS]));
    JSON_I64(b, "likes", known(post->counts[COUNT_LIKES]));
    JSON_I64(b, "comments", known(post->counts[COUNT_COMMENTS]));
    JSON_I64(b, "shares", known(post->counts[COUNT_SHARES]));
    JSON_I64(b, "saves", known(post->counts[COUNT_SAVES]));
    JSON_TIME(b, "posted_at", post->posted_at);
    JSON_TIME_OR_NULL(b, "views_updated_at", post->updated_at != TIME_NONE, post->updated_at);
    json_close(b, '}');
}

static void plain_viral(struct buf *b, const struct video *video)
{
    bool viral = video->went_viral_at != TIME_NONE;
    json_key(b, STR("viral"));
    json_open(b, '{');
    JSON_BOOL(b, "is_viral", viral);
    JSON_TIME_OR_NULL(b, "went_viral_at", viral, video->went_viral_at);
    JSON_I64_OR_NULL(b, "views_when_viral", viral, video->views_when_viral);
    JSON_I64(b, "threshold", video->line.threshold);
    JSON_I64_OR_NULL(b, "author_median_views", video->line.median != COUNT_NONE, video->line.median);
    JSON_I64(b, "compared_videos", video->line.compared);
    json_close(b, '}');
}

static void plain_book(struct buf *b, const struct book_ref *book)
{
    if (!book->title.p) {
        JSON_NULL(b, "book");
        return;
    }
    json_key(b, STR("book"));
    json_open(b, '{');
    JSON_UUID(b, "id", &book->id);
    JSON_STR(b, "title", book->title);
    json_close(b, '}');
}

static void plain_lists(struct buf *b, const struct video *video)
{
    json_key(b, STR("platforms"));
    json_open(b, '[');
    for (size_t i = 0; i < video->post_count; i++)
        plain_post(b, &video->posts[i]);
    json_close(b, ']');
    plain_viral(b, video);
    json_key(b, STR("milestones"));
    json_open(b, '[');
    for (size_t i = 0; i < video->milestone_count; i++) {
        json_open(b, '{');
        JSON_I64(b, "views", video->milestones[i].value);
        JSON_TIME(b, "reached_at", video->milestones[i].reached_at);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static void plain_shown(struct buf *b, const struct video *video, const struct book_ref *book, bool thumbnail)
{
    json_open(b, '{');
    JSON_UUID(b, "id", &video->id);
    JSON_STR(b, "title", render_title(video, book));
    if (thumbnail)
        JSON_STR(b, "thumbnail_url", video->thumbnail_url);
    plain_book(b, book);
    JSON_TIME(b, "posted_at", video->posted_at);
    json_close(b, '}');
}

static void plain_video(struct buf *b, const struct video *video, const struct book_ref *book, int64_t now_ms)
{
    json_open(b, '{');
    JSON_UUID(b, "id", &video->id);
    JSON_STR(b, "title", render_title(video, book));
    JSON_STR(b, "thumbnail_url", video->thumbnail_url);
    plain_book(b, book);
    JSON_TIME(b, "posted_at", video->posted_at);
    JSON_I64(b, "views", video->views);
    JSON_I64(b, "likes", total_of(video, COUNT_LIKES));
    JSON_I64(b, "comments", total_of(video, COUNT_COMMENTS));
    JSON_I64(b, "shares", total_of(video, COUNT_SHARES));
    JSON_I64(b, "saves", total_of(video, COUNT_SAVES));
    JSON_TIME_OR_NULL(b, "views_updated_at", video->updated_at != TIME_NONE, video->updated_at);
    JSON_BOOL(b, "views_final", now_ms > video->posted_at + VIDEO_LIFE_DAYS * (int64_t)DAY_MS);
    plain_lists(b, video);
    json_close(b, '}');
}

/* --- videos of all kinds --- */

static struct str random_text(void)
{
    static const char text[] =
        "https://video.example/@somebody/0123456789 \"quoted\" \n\x01 caf\xC3\xA9 \xFF\xE2"
        "\x80\xA8 and more that is plain, for long titles have sixteen characters";
    size_t from = random_u64() % (sizeof text - 1);
    return random_u64() % 5 ? str_make(text + from, random_u64() % (sizeof text - from)) : str_make(NULL, 0);
}

static int64_t random_count(void)
{
    switch (random_u64() % 8) {
    case 0: return COUNT_NONE;
    case 1: return 0;
    case 2: return COUNT_MAX;
    default: return (int64_t)(random_u64() >> (11 + random_u64() % 53));
    }
}

static int64_t random_time(void)
{
    switch (random_u64() % 8) {
    case 0: return TIME_NONE;
    case 1: return (int64_t)random_u64() >> 16; /* beyond all years */
    default: return (int64_t)(random_u64() % (8000 * 366 * (uint64_t)DAY_MS));
    }
}

static void random_post(struct post *post, enum platform platform)
{
    *post = (struct post){
        .platform = platform, .url = random_text(), .posted_at = random_time(), .updated_at = random_time()};
    for (int i = 0; i < COUNT_KINDS; i++)
        post->counts[i] = random_count();
}

static void random_video(struct video *v, struct book_ref *book)
{
    *v = (struct video){.title = random_text(),
                        .thumbnail_url = random_text(),
                        .posted_at = random_time() / 2,
                        .views = (int64_t)random_u64() >> random_u64() % 64,
                        .updated_at = random_time(),
                        .went_viral_at = random_time(),
                        .views_when_viral = random_count(),
                        .line = {random_count(), random_count(), random_count()},
                        .milestone_count = random_u64() % (MILESTONES_MAX + 1)};
    *book = (struct book_ref){.title = random_text()};
    for (size_t i = 0; i < sizeof v->id.b; i++)
        book->id.b[i] = v->id.b[i] = (uint8_t)random_u64();
    for (int p = 0; p < PLATFORM_COUNT; p++)
        if (random_u64() % 3)
            random_post(&v->posts[v->post_count++], (enum platform)p);
    for (size_t i = 0; i < v->milestone_count; i++)
        v->milestones[i] = (struct milestone){random_count(), random_time()};
}

/* The longest that there can be: what was reserved must hold it. */
static void longest_video(struct video *v, struct book_ref *book)
{
    const int64_t time = INT64_C(253402300799999);
    random_video(v, book);
    v->views = v->views_when_viral = INT64_MIN;
    v->line = (struct viral_line){INT64_MIN, INT64_MIN, INT64_MIN};
    v->posted_at = v->updated_at = v->went_viral_at = time;
    v->post_count = PLATFORM_COUNT;
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        random_post(&v->posts[p], (enum platform)p);
        v->posts[p].posted_at = v->posts[p].updated_at = time;
        for (int i = 0; i < COUNT_KINDS; i++)
            v->posts[p].counts[i] = INT64_MIN / 8;
    }
    v->milestone_count = MILESTONES_MAX;
    for (size_t i = 0; i < MILESTONES_MAX; i++)
        v->milestones[i] = (struct milestone){INT64_MIN, time};
}

/* Two in a list, as they stand there, and what other answers show of it; false: the buffer failed. */
static bool render_all(struct buf *b, const struct video *v, const struct book_ref *book, int64_t now_ms)
{
    json_open(b, '[');
    for (int i = 0; i < 2; i++) {
        render_video(b, v, book, now_ms);
        render_shown_video(b, v, book, i == 0);
    }
    json_close(b, ']');
    return !b->failed;
}

static bool render_plainly(struct buf *b, const struct video *v, const struct book_ref *book, int64_t now_ms)
{
    json_open(b, '[');
    for (int i = 0; i < 2; i++) {
        plain_video(b, v, book, now_ms);
        plain_shown(b, v, book, i == 0);
    }
    json_close(b, ']');
    return !b->failed;
}

static void videos_are_as_written_plainly(void **state)
{
    (void)state;
    struct buf fast, plain;
    buf_init(&fast, 1 << 20);
    buf_init(&plain, 1 << 20);
    for (int round = 0; round < 5000; round++) {
        struct video v;
        struct book_ref book;
        int64_t now_ms = random_time() / 2;
        if (round % 50)
            random_video(&v, &book);
        else
            longest_video(&v, &book);
        buf_reset(&fast, 1 << 20);
        buf_reset(&plain, 1 << 20);
        assert_true(render_all(&fast, &v, &book, now_ms));
        assert_true(render_plainly(&plain, &v, &book, now_ms));
        assert_int_equal(fast.len, plain.len);
        assert_memory_equal(fast.p, plain.p, fast.len);
        assert_true(str_is_utf8(buf_str(&fast)));
    }
    buf_fini(&fast);
    buf_fini(&plain);
}

/* A buffer that reaches its end anywhere in a video fails, and nothing is written behind its end: each size
 * is memory of its own. */
static void a_full_buffer_fails(void **state)
{
    (void)state;
    struct video v;
    struct book_ref book;
    struct buf whole;
    longest_video(&v, &book);
    buf_init(&whole, 1 << 20);
    assert_true(render_plainly(&whole, &v, &book, 0));
    for (size_t max = 1; max < whole.len + 1000; max++) {
        struct buf b;
        buf_init(&b, max);
        if (render_all(&b, &v, &book, 0)) {
            assert_int_equal(b.len, whole.len);
            assert_memory_equal(b.p, whole.p, whole.len);
        }
        assert_true(b.len <= max && (max >= whole.len || b.failed));
        assert_true(max < whole.len + 400 || !b.failed); /* what it asks for too much is little */
        buf_fini(&b);
    }
    buf_fini(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(videos_are_as_written_plainly),
        cmocka_unit_test(a_full_buffer_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

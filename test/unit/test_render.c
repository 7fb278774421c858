/* Tests the JSON of videos: exact texts of some videos, and properties that hold for random videos. */
#include "unit.h"
#include "lib/random.h"

#include <stdlib.h>
#include <yyjson.h>

#include "api/render.h"

static const int64_t POSTED = INT64_C(1751356800000); /* 2025-07-01T08:00:00Z */

static struct buf rendered;

static int set_up(void **state)
{
    (void)state;
    buf_init(&rendered, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_fini(&rendered);
    return 0;
}

/* Returns a posted video without a reading, with no more than the required members. */
static struct video plain_video(void)
{
    return (struct video){.id = {{0x11, 0x22}},
                          .posted_at = POSTED,
                          .updated_at = TIME_NONE,
                          .went_viral_at = TIME_NONE,
                          .viral = {.threshold = 10000, .median = COUNT_NONE}};
}

static void expect_video(const struct video *video, const struct book_ref *book, const char *expected)
{
    buf_reset(&rendered, 1 << 20);
    render_video(&rendered, video, book, POSTED);
    assert_str(buf_str(&rendered), expected);
}

static void unknown_values_are_null(void **state)
{
    (void)state;
    const struct video video = plain_video();
    const struct book_ref none = {.title = {NULL, 0}};
    expect_video(
        &video, &none,
        "{\"id\":\"11220000-0000-0000-0000-000000000000\",\"title\":\"Untitled\","
        "\"thumbnail_url\":null,\"book\":null,\"posted_at\":\"2025-07-01T08:00:00.000Z\",\"views\":0,"
        "\"likes\":0,\"comments\":0,\"shares\":0,\"saves\":0,\"views_updated_at\":null,"
        "\"views_final\":false,\"platforms\":[],\"viral\":{\"is_viral\":false,\"went_viral_at\":null,"
        "\"views_when_viral\":null,\"threshold\":10000,\"author_median_views\":null,"
        "\"compared_videos\":0},\"milestones\":[]}");
}

static void every_field_has_its_value(void **state)
{
    (void)state;
    struct video video = plain_video();
    const struct book_ref book = {.id = {{0xAA}}, .title = STR("Novel")};
    video.title = STR("A \"title\"");
    video.thumbnail_url = STR("https://cdn.example/1.jpg");
    video.views = 30000;
    video.updated_at = POSTED + HOUR_MS;
    video.went_viral_at = POSTED + DAY_MS;
    video.views_when_viral = 25000;
    video.viral = (struct viral_comparison){.threshold = 20000, .median = 4000, .compared = 7};
    video.post_count = 2;
    video.posts[0] = (struct post){.platform = PLATFORM_TIKTOK,
                                   .url = STR("https://t.example/1"),
                                   .posted_at = POSTED,
                                   .updated_at = POSTED + HOUR_MS,
                                   .counts = {20000, 5, 4, 3, 2}};
    video.posts[1] = (struct post){.platform = PLATFORM_PINTEREST,
                                   .posted_at = POSTED + 1,
                                   .updated_at = TIME_NONE,
                                   .counts = {10000, 10, COUNT_NONE, 30, 40}};
    video.milestone_count = 2;
    video.milestones[0] = (struct milestone){1000, POSTED};
    video.milestones[1] = (struct milestone){10000, POSTED + 2};
    expect_video(
        &video, &book,
        "{\"id\":\"11220000-0000-0000-0000-000000000000\",\"title\":\"A \\\"title\\\"\","
        "\"thumbnail_url\":\"https://cdn.example/1.jpg\","
        "\"book\":{\"id\":\"aa000000-0000-0000-0000-000000000000\",\"title\":\"Novel\"},"
        "\"posted_at\":\"2025-07-01T08:00:00.000Z\",\"views\":30000,\"likes\":15,\"comments\":4,\"shares\":"
        "33,"
        "\"saves\":42,\"views_updated_at\":\"2025-07-01T09:00:00.000Z\",\"views_final\":false,\"platforms\":["
        "{\"platform\":\"tiktok\",\"url\":\"https://t.example/1\",\"views\":20000,\"likes\":5,\"comments\":4,"
        "\"shares\":3,\"saves\":2,\"posted_at\":\"2025-07-01T08:00:00.000Z\","
        "\"views_updated_at\":\"2025-07-01T09:00:00.000Z\"},"
        "{\"platform\":\"pinterest\",\"url\":null,\"views\":10000,\"likes\":10,\"comments\":0,\"shares\":30,"
        "\"saves\":40,\"posted_at\":\"2025-07-01T08:00:00.001Z\",\"views_updated_at\":null}],"
        "\"viral\":{\"is_viral\":true,\"went_viral_at\":\"2025-07-02T08:00:00.000Z\","
        "\"views_when_viral\":25000,\"threshold\":20000,\"author_median_views\":4000,\"compared_videos\":7},"
        "\"milestones\":[{\"views\":1000,\"reached_at\":\"2025-07-01T08:00:00.000Z\"},"
        "{\"views\":10000,\"reached_at\":\"2025-07-01T08:00:00.002Z\"}]}");
}

static void statistics_and_events_show_a_video_in_a_short_form(void **state)
{
    (void)state;
    const struct video video = plain_video();
    const struct book_ref book = {.id = {{0xAA}}, .title = STR("Novel")};
    const struct video_ref ref = video_ref_of(&video);
    render_stats_video(&rendered, &ref, &book);
    assert_str(buf_str(&rendered), "{\"id\":\"11220000-0000-0000-0000-000000000000\",\"title\":\"Novel\","
                                   "\"book\":{\"id\":\"aa000000-0000-0000-0000-000000000000\",\"title\":"
                                   "\"Novel\"},\"posted_at\":\"2025-07-01T08:00:00.000Z\"}");
    buf_reset(&rendered, 1 << 20);
    render_event_video(&rendered, &ref, &book);
    assert_str(buf_str(&rendered), "{\"id\":\"11220000-0000-0000-0000-000000000000\",\"title\":\"Novel\","
                                   "\"thumbnail_url\":null,"
                                   "\"book\":{\"id\":\"aa000000-0000-0000-0000-000000000000\",\"title\":"
                                   "\"Novel\"},\"posted_at\":\"2025-07-01T08:00:00.000Z\",\"posts\":[]}");
    buf_reset(&rendered, 1 << 20);
    render_event_id(&rendered, INT64_MAX);
    assert_str(buf_str(&rendered), "\"evt_9223372036854775807\"");
}

static void events_show_platform_and_url_of_each_post(void **state)
{
    (void)state;
    const struct post posts[] = {{.platform = PLATFORM_TIKTOK, .url = STR("https://t.example/\"1\"")},
                                 {.platform = PLATFORM_PINTEREST}};
    const struct video video = plain_video();
    const struct book_ref none = {.title = {NULL, 0}};
    struct video_ref ref = video_ref_of(&video);
    ref.posts = posts;
    ref.post_count = 2;
    render_event_video(&rendered, &ref, &none);
    buf_append_char(&rendered, '\0');
    assert_non_null(strstr(rendered.p, ",\"posts\":[{\"platform\":\"tiktok\",\"url\":"
                                       "\"https://t.example/\\\"1\\\"\"},"
                                       "{\"platform\":\"pinterest\",\"url\":null}]}"));
}

/* The text changes with the clock exactly once, one millisecond after the 30 days. */
static void rendered_text_is_valid_until_the_video_becomes_final(void **state)
{
    (void)state;
    const struct video video = plain_video();
    const struct book_ref none = {.title = {NULL, 0}};
    const int64_t last = POSTED + 30 * DAY_MS;
    const struct {
        int64_t now, until;
        bool final;
    } cases[] = {{POSTED, last + 1, false}, {last, last + 1, false}, {last + 1, INT64_MAX, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_reset(&rendered, 1 << 20);
        render_video(&rendered, &video, &none, cases[i].now);
        buf_append_char(&rendered, '\0');
        assert_int_equal(strstr(rendered.p, "\"views_final\":true") != NULL, cases[i].final);
        assert_true(render_valid_until(&video, cases[i].now) == cases[i].until);
    }
}

/* ---- random videos ---- */

static struct str random_text(void)
{
    static const char text[] =
        "https://video.example/@somebody/0123456789 \"quoted\" \n\x01 caf\xC3\xA9 \xFF\xE2"
        "\x80\xA8 and further characters that need no escape";
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
    case 1: return (int64_t)random_u64() >> 16; /* such times are mostly outside the years 1 to 9999 */
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
                        .viral = {random_count(), random_count(), random_count()},
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

static int64_t member_i64(yyjson_val *object, const char *name)
{
    yyjson_val *value = yyjson_obj_get(object, name);
    assert_true(yyjson_is_int(value));
    return yyjson_get_sint(value);
}

/* Asserts that the video is rendered as valid JSON with all fields of the contract, and that its totals are
 * the sums over its posts. */
static void check_video(const struct video *v)
{
    static const struct {
        const char *name;
        enum count_kind kind;
    } totals[] = {{"likes", COUNT_LIKES},
                  {"comments", COUNT_COMMENTS},
                  {"shares", COUNT_SHARES},
                  {"saves", COUNT_SAVES}};
    yyjson_doc *doc = yyjson_read(rendered.p, rendered.len, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc), *posts = yyjson_obj_get(root, "platforms");
    assert_non_null(doc);
    assert_int_equal(yyjson_obj_size(root), 15);
    assert_int_equal(yyjson_arr_size(posts), v->post_count);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(root, "milestones")), v->milestone_count);
    assert_int_equal(yyjson_obj_size(yyjson_obj_get(root, "viral")), 6);
    assert_true(member_i64(root, "views") == v->views);
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        int64_t sum = 0;
        for (size_t p = 0; p < v->post_count; p++) {
            yyjson_val *post = yyjson_arr_get(posts, p);
            assert_int_equal(yyjson_obj_size(post), 9);
            sum += member_i64(post, totals[i].name);
        }
        assert_true(member_i64(root, totals[i].name) == sum);
    }
    yyjson_doc_free(doc);
}

static void random_videos_are_valid_json(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        struct video v;
        struct book_ref book;
        random_video(&v, &book);
        buf_reset(&rendered, 1 << 20);
        render_video(&rendered, &v, &book, random_time() / 2);
        assert_false(rendered.failed);
        assert_true(str_is_utf8(buf_str(&rendered)));
        check_video(&v);
    }
}

/* At each size that is too small, rendering fails, and the buffer never exceeds its maximum. */
static void buffer_that_is_too_small_fails(void **state)
{
    (void)state;
    struct video v;
    struct book_ref book;
    random_video(&v, &book);
    render_video(&rendered, &v, &book, 0);
    for (size_t max = 1; max <= rendered.len; max++) {
        struct buf b;
        buf_init(&b, max);
        render_video(&b, &v, &book, 0);
        assert_int_equal(b.failed, max < rendered.len);
        assert_true(b.len <= max);
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unknown_values_are_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_field_has_its_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(events_show_platform_and_url_of_each_post, set_up, tear_down),
        cmocka_unit_test_setup_teardown(statistics_and_events_show_a_video_in_a_short_form, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rendered_text_is_valid_until_the_video_becomes_final, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(random_videos_are_valid_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(buffer_that_is_too_small_fails, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests the growth model of the simulated source: equal inputs give equal counts, counts never fall, and the
 * gains are plausible. */
#include "refresh/growth.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOON (INT64_C(1782864000000) + 12 * HOUR_MS) /* 2026-07-01 */

enum { MANY = 200, TYPICAL = 4000, THRESHOLD = 20000, VIRAL_PERIOD = 9 };

static struct growth_moment at(int64_t now_ms)
{
    return (struct growth_moment){.now_ms = now_ms, .interval_ms = HOUR_MS, .seed = 7, .live = 1000000};
}

/* A video that was posted `age_h` hours before NOON on one platform and has no reading yet. */
static struct video make(char id[8], int n, int age_h, enum platform platform)
{
    (void)snprintf(id, 8, "p%d", n);
    struct video v = {.row = n + 1,
                      .posted_at = NOON - age_h * HOUR_MS,
                      .updated_at = TIME_NONE,
                      .went_viral_at = TIME_NONE,
                      .viral = {.threshold = THRESHOLD, .median = TYPICAL, .compared = 9},
                      .post_count = 1};
    v.id.b[14] = (uint8_t)(n / 256);
    v.id.b[15] = (uint8_t)n;
    v.posts[0] = (struct post){.platform = platform,
                               .post_id = str_from_cstr(id),
                               .posted_at = v.posted_at,
                               .updated_at = TIME_NONE,
                               .counts = {COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE}};
    return v;
}

static void set_views(struct video *v, int64_t views, int64_t updated_at)
{
    v->views = v->posts[0].counts[COUNT_VIEWS] = views;
    v->updated_at = v->posts[0].updated_at = updated_at;
}

/* Applies one reading; returns the views gained. */
static int64_t grow(struct video *v, const struct growth_moment *m)
{
    int64_t counts[PLATFORM_COUNT][COUNT_KINDS];
    const int64_t before = v->views;
    growth_compute(v, m, counts);
    for (int k = 0; k < COUNT_KINDS; k++) {
        assert_true(counts[0][k] == COUNT_NONE || counts[0][k] >= v->posts[0].counts[k]);
        if (counts[0][k] != COUNT_NONE)
            v->posts[0].counts[k] = counts[0][k];
    }
    set_views(v, counts[0][COUNT_VIEWS], m->now_ms);
    return v->views - before;
}

static void counts_depend_only_on_the_video_the_time_and_the_seed(void **state)
{
    (void)state;
    char id[8];
    struct video v = make(id, 3, 20, PLATFORM_TIKTOK), w = v, later = v, other = v;
    struct growth_moment m = at(NOON), reseeded = m;
    set_views(&v, 1000, NOON - HOUR_MS);
    w = later = other = v;
    reseeded.seed++;
    const int64_t gained = grow(&v, &m);
    assert_int_equal(grow(&w, &m), gained);
    assert_memory_equal(v.posts[0].counts, w.posts[0].counts, sizeof v.posts[0].counts);
    assert_true(grow(&other, &reseeded) != gained);
    m.now_ms += 60000;
    assert_true(grow(&later, &m) != gained);
    /* Asserts exact numbers, so that the model cannot change by accident. */
    assert_int_equal(v.posts[0].counts[COUNT_VIEWS], 1538);
    assert_int_equal(v.posts[0].counts[COUNT_LIKES], 138);
}

static int64_t gain_of_many(int age_h, enum platform platform, int64_t views, const struct growth_moment *m)
{
    int64_t sum = 0;
    for (int n = 0; n < MANY; n++) {
        char id[8];
        struct video v = make(id, n, age_h, platform);
        set_views(&v, views, m->now_ms - HOUR_MS);
        sum += grow(&v, m);
    }
    return sum;
}

static void young_videos_grow_faster_than_old_ones(void **state)
{
    (void)state;
    const struct growth_moment m = at(NOON);
    const int64_t first_day = gain_of_many(5, PLATFORM_YOUTUBE, 500, &m);
    const int64_t third_day = gain_of_many(3 * 24, PLATFORM_YOUTUBE, 500, &m);
    const int64_t last_day = gain_of_many(29 * 24, PLATFORM_YOUTUBE, 500, &m);
    assert_true(first_day > 2 * third_day);
    assert_true(third_day > 3 * last_day);
    assert_true(last_day > 0);
    /* A video with many more views than the model expects hardly grows. */
    assert_true(gain_of_many(5, PLATFORM_YOUTUBE, 20 * TYPICAL, &m) * 50 < first_day);
    assert_true(gain_of_many(5, PLATFORM_YOUTUBE, 20 * TYPICAL, &m) > 0);
}

/* The video has many fewer views than the model expects from the author's other videos, as real videos can
 * have. */
static void video_of_five_days_gains_at_most_two_percent_per_day(void **state)
{
    (void)state;
    struct growth_moment m = at(NOON);
    int64_t gained = 0;
    for (int hour = 0; hour < 24; hour++, m.now_ms += HOUR_MS)
        gained += gain_of_many(5 * 24, PLATFORM_TIKTOK, TYPICAL / 10, &m);
    assert_in_range(gained, 1, MANY * (TYPICAL / 10) * 2 / 100);
}

static void growth_depends_on_platform_and_hour(void **state)
{
    (void)state;
    const struct growth_moment noon = at(NOON), evening = at(NOON + 7 * HOUR_MS),
                               night = at(NOON - 9 * HOUR_MS);
    assert_true(gain_of_many(15, PLATFORM_TIKTOK, 100, &noon) >
                3 * gain_of_many(15, PLATFORM_PINTEREST, 100, &noon) / 2);
    assert_true(gain_of_many(48, PLATFORM_TIKTOK, 100, &evening) >
                2 * gain_of_many(48, PLATFORM_TIKTOK, 100, &night));
}

static void views_after_thirty_days_are_distributed_around_the_median(void **state)
{
    (void)state;
    int below = 0, far_above = 0;
    for (int n = 0; n < MANY; n++) {
        char id[8];
        struct video v = make(id, n, 0, n % 2 ? PLATFORM_TIKTOK : PLATFORM_FACEBOOK);
        struct growth_moment m = at(NOON);
        for (int hour = 1; hour <= 30 * 24; hour++) {
            m.now_ms += HOUR_MS;
            (void)grow(&v, &m);
        }
        below += v.views < TYPICAL;
        far_above += v.views > 5 * TYPICAL;
        assert_in_range(v.posts[0].counts[COUNT_LIKES], v.views / 100, v.views / 5);
        assert_in_range(v.posts[0].counts[COUNT_COMMENTS], 0, v.views / 50);
    }
    assert_in_range(below, MANY * 35 / 100, MANY * 65 / 100);
    assert_in_range(far_above, 1, MANY * 8 / 100);
}

static void unavailable_counts_stay_unknown(void **state)
{
    (void)state;
    char id[8];
    const struct growth_moment m = at(NOON);
    struct video v = make(id, 1, 20, PLATFORM_YOUTUBE);
    (void)grow(&v, &m);
    assert_true(v.views > 0);
    assert_true(v.posts[0].counts[COUNT_COMMENTS] >= 0);
    assert_int_equal(v.posts[0].counts[COUNT_SHARES], COUNT_NONE);
    assert_int_equal(v.posts[0].counts[COUNT_SAVES], COUNT_NONE);
}

static void gain_is_proportional_to_elapsed_interval(void **state)
{
    (void)state;
    char id[8];
    const struct growth_moment m = at(NOON);
    struct video whole = make(id, 1, 10, PLATFORM_TIKTOK);
    set_views(&whole, 1000, NOON - HOUR_MS);
    struct video half = whole, long_ago = whole, now = whole;
    set_views(&half, 1000, NOON - HOUR_MS / 2);
    set_views(&long_ago, 1000, NOON - 90 * HOUR_MS);
    set_views(&now, 1000, NOON);
    const int64_t gained = grow(&whole, &m);
    assert_in_range(grow(&half, &m), gained / 2 - 1, gained / 2 + 1);
    assert_int_equal(grow(&long_ago, &m), gained);
    assert_in_range(grow(&now, &m), 0, 1);
}

static void counts_never_exceed_the_maximum(void **state)
{
    (void)state;
    static const int64_t large[] = {COUNT_MAX, COUNT_MAX - 1, COUNT_MAX / 8, COUNT_MAX / 8 - 1, 0};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        char id[8];
        struct growth_moment m = at(NOON);
        struct video v = make(id, 1, 10, PLATFORM_TIKTOK);
        v.viral = (struct viral_comparison){.threshold = COUNT_MAX, .median = COUNT_MAX, .compared = 50};
        set_views(&v, large[i], NOON - HOUR_MS);
        v.posts[0].counts[COUNT_LIKES] = large[i];
        for (int step = 0; step < 2 * VIRAL_PERIOD; step++) {
            (void)grow(&v, &m);
            m.now_ms += HOUR_MS;
        }
        assert_in_range(v.views, large[i], large[i] > COUNT_MAX / 8 ? large[i] : COUNT_MAX / 8);
        assert_in_range(v.posts[0].counts[COUNT_LIKES], large[i], COUNT_MAX);
    }
}

static void likes_stop_at_the_maximum_of_the_model(void **state)
{
    (void)state;
    char id[8];
    const struct growth_moment m = at(NOON);
    struct video v = make(id, 1, 10, PLATFORM_TIKTOK);
    v.viral = (struct viral_comparison){.threshold = COUNT_MAX, .median = COUNT_MAX, .compared = 50};
    set_views(&v, 0, NOON - HOUR_MS);
    v.posts[0].counts[COUNT_LIKES] = COUNT_MAX / 8 - 5;
    assert_true(grow(&v, &m) > 1000000);
    assert_int_equal(v.posts[0].counts[COUNT_LIKES], COUNT_MAX / 8);
}

/* --- going viral --- */

/* Grows all live videos of an author; returns how many went viral. */
static int grow_author(int live, int64_t views, int readings)
{
    struct growth_moment m = {.now_ms = NOON, .interval_ms = 20000, .seed = 1, .live = live};
    int viral = 0;
    for (int n = 0; n < live; n++) {
        char id[8];
        struct video v = make(id, n, 100 + n, PLATFORM_TIKTOK);
        set_views(&v, views, NOON - HOUR_MS);
        m.now_ms = NOON;
        for (int i = 0; i < readings && v.views < THRESHOLD; i++, m.now_ms += m.interval_ms)
            (void)grow(&v, &m);
        viral += v.views >= THRESHOLD;
    }
    return viral;
}

static void some_videos_go_viral_within_minutes(void **state)
{
    (void)state;
    assert_in_range(grow_author(20, TYPICAL, 4 * VIRAL_PERIOD), 1, 5);
    assert_in_range(grow_author(1000, TYPICAL, VIRAL_PERIOD), 1, 5);
}

static void most_videos_never_go_viral(void **state)
{
    (void)state;
    assert_in_range(grow_author(60, TYPICAL, 400 * VIRAL_PERIOD), 1, 15);
}

static void viral_video_exceeds_threshold_after_six_readings(void **state)
{
    (void)state;
    char id[8];
    struct video v = make(id, 1, 100, PLATFORM_TIKTOK);
    struct growth_moment m = {.interval_ms = 20000, .seed = 1, .live = 1};
    int period = 0;
    for (int n = 2; !growth_is_viral(&v, &m); n++) {
        if (n % 100 == 0)
            v = make(id, n / 100, 100, PLATFORM_TIKTOK);
        m.now_ms = ++period * VIRAL_PERIOD * m.interval_ms;
    }
    set_views(&v, TYPICAL, m.now_ms - m.interval_ms);
    for (int i = 0; i < 6; i++, m.now_ms += m.interval_ms) {
        assert_true(v.views < THRESHOLD);
        (void)grow(&v, &m);
    }
    assert_in_range(v.views, THRESHOLD, THRESHOLD * 5 / 4);
    v.went_viral_at = m.now_ms;
    assert_false(growth_is_viral(&v, &m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_depend_only_on_the_video_the_time_and_the_seed),
        cmocka_unit_test(young_videos_grow_faster_than_old_ones),
        cmocka_unit_test(video_of_five_days_gains_at_most_two_percent_per_day),
        cmocka_unit_test(growth_depends_on_platform_and_hour),
        cmocka_unit_test(views_after_thirty_days_are_distributed_around_the_median),
        cmocka_unit_test(unavailable_counts_stay_unknown),
        cmocka_unit_test(gain_is_proportional_to_elapsed_interval),
        cmocka_unit_test(counts_never_exceed_the_maximum),
        cmocka_unit_test(likes_stop_at_the_maximum_of_the_model),
        cmocka_unit_test(some_videos_go_viral_within_minutes),
        cmocka_unit_test(most_videos_never_go_viral),
        cmocka_unit_test(viral_video_exceeds_threshold_after_six_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

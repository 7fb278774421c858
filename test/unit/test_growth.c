/* The growth that the simulated source makes up: the same every time, never falling, and believable. */
#include "refresh/growth.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOON (INT64_C(1782864000000) + 12 * HOUR_MS) /* 2026-07-01 */

enum { MANY = 200, TYPICAL = 4000, THRESHOLD = 20000, STEPS_IN_WINDOW = 9 };

static struct growth_moment at(int64_t now_ms)
{
    return (struct growth_moment){.now_ms = now_ms, .interval_ms = HOUR_MS, .seed = 7};
}

/* The n-th of an author's videos, posted `age_h` before NOON on one platform, not read yet. */
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

static void known(struct video *v, int64_t views, int64_t updated_at)
{
    v->views = v->posts[0].counts[COUNT_VIEWS] = views;
    v->updated_at = v->posts[0].updated_at = updated_at;
}

/* One reading that is applied: what the post gained. */
static int64_t grow(struct video *v, const struct growth_moment *m, const struct take_off *t)
{
    int64_t counts[PLATFORM_COUNT][COUNT_KINDS];
    const int64_t before = v->views;
    growth_of(v, m, t, counts);
    for (int k = 0; k < COUNT_KINDS; k++) {
        assert_true(counts[0][k] == COUNT_NONE || counts[0][k] >= v->posts[0].counts[k]);
        if (counts[0][k] != COUNT_NONE)
            v->posts[0].counts[k] = counts[0][k];
    }
    known(v, counts[0][COUNT_VIEWS], m->now_ms);
    return v->views - before;
}

static void is_the_same_for_the_same_video_time_and_seed(void **state)
{
    (void)state;
    char id[8];
    struct video v = make(id, 3, 20, PLATFORM_TIKTOK), w = v, later = v, other = v;
    struct growth_moment m = at(NOON), reseeded = m;
    known(&v, 1000, NOON - HOUR_MS);
    w = later = other = v;
    reseeded.seed++;
    const int64_t gained = grow(&v, &m, NULL);
    assert_int_equal(grow(&w, &m, NULL), gained);
    assert_memory_equal(v.posts[0].counts, w.posts[0].counts, sizeof v.posts[0].counts);
    assert_true(grow(&other, &reseeded, NULL) != gained);
    m.now_ms += 60000;
    assert_true(grow(&later, &m, NULL) != gained);
    /* These very numbers: a change of the model is to be meant. */
    assert_int_equal(v.posts[0].counts[COUNT_VIEWS], 1129);
    assert_int_equal(v.posts[0].counts[COUNT_LIKES], 145);
}

static int64_t gain_of_many(int age_h, enum platform platform, int64_t views, const struct growth_moment *m)
{
    int64_t sum = 0;
    for (int n = 0; n < MANY; n++) {
        char id[8];
        struct video v = make(id, n, age_h, platform);
        known(&v, views, m->now_ms - HOUR_MS);
        sum += grow(&v, m, NULL);
    }
    return sum;
}

static void young_videos_grow_fast_and_old_ones_slowly(void **state)
{
    (void)state;
    const struct growth_moment m = at(NOON);
    const int64_t first_day = gain_of_many(5, PLATFORM_YOUTUBE, 500, &m);
    const int64_t fifth_day = gain_of_many(5 * 24, PLATFORM_YOUTUBE, 500, &m);
    const int64_t last_day = gain_of_many(29 * 24, PLATFORM_YOUTUBE, 500, &m);
    assert_true(first_day > 2 * fifth_day);
    assert_true(fifth_day > 3 * last_day);
    assert_true(last_day > 0);
    /* The nearer to its size, the slower; beyond it hardly at all. */
    assert_true(gain_of_many(5, PLATFORM_YOUTUBE, 20 * TYPICAL, &m) * 50 < first_day);
    assert_true(gain_of_many(5, PLATFORM_YOUTUBE, 20 * TYPICAL, &m) > 0);
}

static void platforms_have_their_own_pace_and_the_day_its_rhythm(void **state)
{
    (void)state;
    const struct growth_moment noon = at(NOON), evening = at(NOON + 7 * HOUR_MS),
                               night = at(NOON - 9 * HOUR_MS);
    assert_true(gain_of_many(15, PLATFORM_TIKTOK, 100, &noon) >
                3 * gain_of_many(15, PLATFORM_PINTEREST, 100, &noon) / 2);
    assert_true(gain_of_many(48, PLATFORM_TIKTOK, 100, &evening) >
                2 * gain_of_many(48, PLATFORM_TIKTOK, 100, &night));
}

static void a_life_of_thirty_days_ends_near_what_is_typical(void **state)
{
    (void)state;
    int below = 0, far_above = 0;
    for (int n = 0; n < MANY; n++) {
        char id[8];
        struct video v = make(id, n, 0, n % 2 ? PLATFORM_TIKTOK : PLATFORM_FACEBOOK);
        struct growth_moment m = at(NOON);
        for (int hour = 1; hour <= 30 * 24; hour++) {
            m.now_ms += HOUR_MS;
            (void)grow(&v, &m, NULL);
        }
        below += v.views < TYPICAL;
        far_above += v.views > 5 * TYPICAL;
        assert_in_range(v.posts[0].counts[COUNT_LIKES], v.views / 100, v.views / 5);
        assert_in_range(v.posts[0].counts[COUNT_COMMENTS], 0, v.views / 50);
    }
    assert_in_range(below, MANY * 35 / 100, MANY * 65 / 100);
    assert_in_range(far_above, 1, MANY * 8 / 100);
}

static void what_a_platform_does_not_tell_stays_unknown(void **state)
{
    (void)state;
    char id[8];
    const struct growth_moment m = at(NOON);
    struct video v = make(id, 1, 20, PLATFORM_YOUTUBE);
    (void)grow(&v, &m, NULL);
    assert_true(v.views > 0);
    assert_true(v.posts[0].counts[COUNT_COMMENTS] >= 0);
    assert_int_equal(v.posts[0].counts[COUNT_SHARES], COUNT_NONE);
    assert_int_equal(v.posts[0].counts[COUNT_SAVES], COUNT_NONE);
}

static void a_part_of_an_interval_brings_a_part_and_none_brings_nothing(void **state)
{
    (void)state;
    char id[8];
    const struct growth_moment m = at(NOON);
    struct video whole = make(id, 1, 10, PLATFORM_TIKTOK);
    known(&whole, 1000, NOON - HOUR_MS);
    struct video half = whole, long_ago = whole, now = whole;
    known(&half, 1000, NOON - HOUR_MS / 2);
    known(&long_ago, 1000, NOON - 90 * HOUR_MS);
    known(&now, 1000, NOON);
    const int64_t gained = grow(&whole, &m, NULL);
    assert_in_range(grow(&half, &m, NULL), gained / 2 - 1, gained / 2 + 1);
    assert_int_equal(grow(&long_ago, &m, NULL), gained);
    assert_in_range(grow(&now, &m, NULL), 0, 1);
}

static void counts_stay_counts_at_the_largest_there_are(void **state)
{
    (void)state;
    static const int64_t large[] = {COUNT_MAX, COUNT_MAX - 1, COUNT_MAX / 8, COUNT_MAX / 8 - 1, 0};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        char id[8];
        struct growth_moment m = at(NOON);
        struct video v = make(id, 1, 10, PLATFORM_TIKTOK);
        v.viral = (struct viral_comparison){.threshold = COUNT_MAX, .median = COUNT_MAX, .compared = 50};
        known(&v, large[i], NOON - HOUR_MS);
        v.posts[0].counts[COUNT_LIKES] = large[i];
        for (int step = 0; step < 2 * STEPS_IN_WINDOW; step++) {
            struct take_off t;
            take_off_begin(&t, &m);
            take_off_add(&t, &m, &v);
            (void)grow(&v, &m, &t);
            m.now_ms += HOUR_MS;
        }
        assert_in_range(v.views, large[i], large[i] > COUNT_MAX / 8 ? large[i] : COUNT_MAX / 8);
        assert_in_range(v.posts[0].counts[COUNT_LIKES], large[i], COUNT_MAX);
    }
}

static void other_counts_stop_there_too(void **state)
{
    (void)state;
    char id[8];
    const struct growth_moment m = at(NOON);
    struct video v = make(id, 1, 10, PLATFORM_TIKTOK);
    v.viral = (struct viral_comparison){.threshold = COUNT_MAX, .median = COUNT_MAX, .compared = 50};
    known(&v, 0, NOON - HOUR_MS);
    v.posts[0].counts[COUNT_LIKES] = COUNT_MAX / 8 - 5;
    assert_true(grow(&v, &m, NULL) > 1000000);
    assert_int_equal(v.posts[0].counts[COUNT_LIKES], COUNT_MAX / 8);
}

/* --- taking off ------------------------------------------------------------------------------------------
 */

enum { LIVE = 20 };

struct author_videos {
    struct video v[LIVE];
    char ids[LIVE][8];
};

static void make_author(struct author_videos *a, int viral)
{
    for (int n = 0; n < LIVE; n++) {
        a->v[n] = make(a->ids[n], n, 100 + n, PLATFORM_TIKTOK);
        known(&a->v[n], TYPICAL, NOON - HOUR_MS);
        if (n < viral)
            a->v[n].went_viral_at = NOON - DAY_MS;
    }
}

/* One reading of all; how many went over the line. */
static int step_author(struct author_videos *a, const struct growth_moment *m)
{
    struct take_off t;
    int flipped = 0;
    take_off_begin(&t, m);
    for (int n = LIVE - 1; n >= 0; n--)
        take_off_add(&t, m, &a->v[n]);
    for (int n = 0; n < LIVE; n++) {
        struct video *v = &a->v[n];
        (void)grow(v, m, &t);
        if (v->went_viral_at == TIME_NONE && v->views >= THRESHOLD) {
            v->went_viral_at = m->now_ms;
            flipped++;
        }
    }
    return flipped;
}

static int flips_in(struct author_videos *a, struct growth_moment *m, int steps)
{
    int flipped = 0;
    for (int i = 0; i < steps; i++, m->now_ms += m->interval_ms)
        flipped += step_author(a, m);
    return flipped;
}

static void a_video_takes_off_within_minutes(void **state)
{
    (void)state;
    for (int start = 0; start < 3 * STEPS_IN_WINDOW; start++) {
        struct author_videos a;
        struct growth_moment m = {.now_ms = NOON + start * 20000, .interval_ms = 20000, .seed = 1};
        make_author(&a, 0);
        assert_int_not_equal(flips_in(&a, &m, STEPS_IN_WINDOW), 0);
    }
}

static void not_all_of_them_do(void **state)
{
    (void)state;
    struct author_videos a;
    struct growth_moment m = {.now_ms = NOON, .interval_ms = 20000, .seed = 1};
    make_author(&a, 0);
    assert_in_range(flips_in(&a, &m, 10 * STEPS_IN_WINDOW), 6, 11);
    make_author(&a, LIVE / 2);
    for (int n = 0; n < LIVE; n++) /* nothing grows by itself: only what takes off goes over the line */
        known(&a.v[n], 15000, m.now_ms);
    assert_in_range(flips_in(&a, &m, 16 * STEPS_IN_WINDOW), 1, 6);
}

static void small_authors_seldom_have_one_and_none_without_candidates(void **state)
{
    (void)state;
    char id[8];
    int off = 0;
    struct growth_moment m = {.now_ms = NOON, .interval_ms = 20000, .seed = 1};
    struct video v = make(id, 1, 100, PLATFORM_TIKTOK);
    for (int window = 0; window < 80; window++, m.now_ms += STEPS_IN_WINDOW * m.interval_ms) {
        struct take_off t;
        m.now_ms -= m.now_ms % (STEPS_IN_WINDOW * m.interval_ms);
        take_off_begin(&t, &m);
        assert_false(take_off_is(&t, &m, &v));
        take_off_add(&t, &m, &v);
        off += take_off_is(&t, &m, &v);
    }
    assert_in_range(off, 3, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_same_for_the_same_video_time_and_seed),
        cmocka_unit_test(young_videos_grow_fast_and_old_ones_slowly),
        cmocka_unit_test(platforms_have_their_own_pace_and_the_day_its_rhythm),
        cmocka_unit_test(a_life_of_thirty_days_ends_near_what_is_typical),
        cmocka_unit_test(what_a_platform_does_not_tell_stays_unknown),
        cmocka_unit_test(a_part_of_an_interval_brings_a_part_and_none_brings_nothing),
        cmocka_unit_test(counts_stay_counts_at_the_largest_there_are),
        cmocka_unit_test(other_counts_stop_there_too),
        cmocka_unit_test(a_video_takes_off_within_minutes),
        cmocka_unit_test(not_all_of_them_do),
        cmocka_unit_test(small_authors_seldom_have_one_and_none_without_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests the step engine on a database: viral state, milestones and events, with examples computed by hand. */
#include "lib/steps.h"

#include "base/clock.h"
#include "lib/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- viral --- */

static void video_goes_viral_at_exactly_the_threshold(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, 9999));
    assert_int_equal(load(&v).went_viral_at, TIME_NONE);
    apply_one(TEST_DAY + 2 * H + 55 * MINUTE_MS, views_of(&v, 10000));
    struct video now = load(&v);
    assert_int_equal(now.went_viral_at, TEST_DAY + 2 * H);
    assert_int_equal(now.views_when_viral, 10000);
    assert_int_equal(now.viral.threshold, 10000);
    assert_int_equal(now.viral.median, COUNT_NONE);
    struct seen_events e = events_of(&a);
    assert_int_equal(e.n, 3); /* the milestones 1,000 and 10,000, then the viral event */
    assert_int_equal(e.e[1].type, EVENT_MILESTONE_REACHED);
    assert_int_equal(e.e[1].value, 10000);
    assert_int_equal(e.e[2].type, EVENT_WENT_VIRAL);
    assert_int_equal(e.e[2].value, 10000);
    assert_int_equal(e.e[2].occurred_at, TEST_DAY + 2 * H + 55 * MINUTE_MS);
}

static void values_stored_when_a_video_goes_viral_never_change(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, 20000));
    make_history(&a, (const int64_t[]){90000, 90000, 90000, 90000, 90000});
    apply_one(TEST_DAY + 9 * H, views_of(&v, 30000));
    struct video now = load(&v);
    assert_int_equal(now.went_viral_at, TEST_DAY + H);
    assert_int_equal(now.views_when_viral, 20000);
    assert_int_equal(now.viral.threshold, 10000);
    assert_int_equal(now.viral.compared, 0);
    assert_int_equal(result.viral_events, 0);
}

static void threshold_is_five_times_the_median_of_an_author_with_history(void **state)
{
    (void)state;
    struct author a = make_author(1);
    make_history(&a, (const int64_t[]){1000, 2000, 3001, 50000, 60000});
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, 15004));
    struct video now = load(&v);
    assert_int_equal(now.viral.threshold, 15005);
    assert_int_equal(now.viral.median, 3001);
    assert_int_equal(now.viral.compared, 5);
    assert_int_equal(now.went_viral_at, TIME_NONE);
    apply_one(TEST_DAY + 2 * H, views_of(&v, 15005));
    assert_int_equal(load(&v).went_viral_at, TEST_DAY + 2 * H);
}

/* There are six old videos, so each of them is compared with the five others. If a video were also
 * compared with itself, its median would differ. */
static void video_is_not_compared_with_itself(void **state)
{
    (void)state;
    struct author a = make_author(1);
    make_history(&a, (const int64_t[]){1000, 2000, 3000, 4000, 5000});
    struct video v = make_video(&a, 1, TEST_DAY - 20 * (int64_t)D);
    apply_one(TEST_DAY, views_of(&v, 14999));
    assert_int_equal(load(&v).viral.median, 3000);
    assert_int_equal(load(&v).viral.threshold, 15000);
    assert_int_equal(load(&v).viral.compared, 5);
    apply_one(TEST_DAY + H, views_of(&v, 15000));
    assert_int_equal(load(&v).went_viral_at, TEST_DAY + H);
}

static void only_videos_old_enough_are_compared(void **state)
{
    (void)state;
    struct author a = make_author(1);
    const int64_t at = TEST_DAY + H;
    for (uint64_t i = 0; i < 5; i++) {
        /* When the step is applied, the fifth video is one millisecond too young. */
        struct video old = make_video(&a, 10 + i, at - 7 * (int64_t)D + (i == 4));
        apply_one(TEST_DAY - D, views_of(&old, 100));
    }
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(at, views_of(&v, 5));
    assert_int_equal(load(&v).viral.compared, 4);
    assert_int_equal(load(&v).viral.median, COUNT_NONE);
    apply_one(at + 1, views_of(&v, 6));
    assert_int_equal(load(&v).viral.compared, 5);
    assert_int_equal(load(&v).viral.median, 100);
}

/* A video is also compared with videos that get their first reading in the same step. */
static void videos_with_their_first_reading_in_the_same_step_are_compared(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video videos[7];
    struct reading r[7];
    for (uint64_t i = 0; i < 7; i++) {
        videos[i] = make_video(&a, i + 1, TEST_DAY - (i < 6 ? 8 : 1) * (int64_t)D);
        r[i] = views_of(&videos[i], 1000 * (int64_t)(i + 1));
    }
    apply(TEST_DAY, r, 7);
    assert_int_equal(load(&videos[6]).viral.compared, 6);
    assert_int_equal(load(&videos[6]).viral.median, 3500);
    assert_int_equal(load(&videos[6]).viral.threshold, 17500);
    assert_int_equal(load(&videos[0]).viral.compared, 5);
    assert_int_equal(load(&videos[0]).viral.median, 4000);
    assert_int_equal(load(&videos[5]).viral.median, 3000);
}

/* A video of exactly the minimum age is compared, even if its first reading is in the same step. */
static void video_with_its_first_reading_at_exactly_the_minimum_age_is_compared(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video videos[6];
    struct reading r[6];
    for (uint64_t i = 0; i < 6; i++) {
        videos[i] = make_video(&a, i + 1, TEST_DAY - (i < 5 ? 7 : 1) * (int64_t)D);
        r[i] = views_of(&videos[i], 100);
    }
    apply(TEST_DAY, r, 6);
    assert_int_equal(load(&videos[5]).viral.compared, 5);
    assert_int_equal(load(&videos[5]).viral.median, 100);
}

/* A stored threshold at or below the views would make the video look viral. */
static void threshold_equal_to_the_views_is_not_stored(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    make_history(&a, (const int64_t[]){1000, 1000, 1000, 1000, 1000});
    apply_one(TEST_DAY + H, baseline_of(&v, 10000));
    assert_int_equal(load(&v).went_viral_at, TIME_NONE);
    assert_int_equal(load(&v).viral.compared, 0); /* unchanged since the video was created */
    struct video w = make_video(&a, 2, TEST_DAY);
    apply_one(TEST_DAY + H, baseline_of(&w, 9999));
    assert_int_equal(load(&w).viral.compared, 5);
}

/* The comparison uses the views that the other videos have after the step. */
static void comparison_uses_the_views_after_the_step(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video videos[6];
    struct reading r[6];
    for (uint64_t i = 0; i < 6; i++) {
        videos[i] = make_video(&a, i + 1, TEST_DAY - 10 * (int64_t)D);
        r[i] = views_of(&videos[i], 10);
    }
    apply(TEST_DAY, r, 6);
    for (uint64_t i = 0; i < 6; i++)
        r[i] = views_of(&videos[i], 9000);
    apply(TEST_DAY + H, r, 6);
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(load(&videos[i]).viral.threshold, 45000);
}

static void only_the_newest_videos_are_compared(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct step_rules rules = default_rules;
    rules.compare_last = 5;
    step_fini(&step);
    step_init(&step, &rules);
    struct video videos[8];
    for (uint64_t i = 0; i < 8; i++) {
        videos[i] = make_video(&a, i + 1, TEST_DAY - (20 - (int64_t)i) * D);
        apply_one(TEST_DAY - D, views_of(&videos[i], (int64_t)(i + 1) * 1000));
    }
    struct video v = make_video(&a, 99, TEST_DAY);
    apply_one(TEST_DAY, views_of(&v, 1));
    assert_int_equal(load(&v).viral.compared, 5);
    assert_int_equal(load(&v).viral.median, 6000); /* of 4,000 … 8,000 */
    apply_one(TEST_DAY, views_of(&videos[7], 8001));
    /* The median of 3,000 … 7,000: the video itself does not count, so the sixth newest video does. */
    assert_int_equal(load(&videos[7]).viral.median, 5000);
    apply_one(TEST_DAY, views_of(&videos[0], 1001));
    /* The median of 4,000 … 8,000, because the video itself is not among the newest five. */
    assert_int_equal(load(&videos[0]).viral.median, 6000);
}

static void video_without_a_gain_does_not_go_viral(void **state)
{
    (void)state;
    struct author a = make_author(1);
    make_history(&a, (const int64_t[]){4000, 4000, 4000, 4000, 4000});
    struct video v = make_video(&a, 1, TEST_DAY - 15 * (int64_t)D);
    apply_one(TEST_DAY, views_of(&v, 19999));
    assert_int_equal(load(&v).viral.threshold, 20000);
    /* Five more videos with few views lower the threshold to 10,000. */
    for (uint64_t i = 0; i < 5; i++) {
        struct video other = make_video(&a, 20 + i, TEST_DAY - 19 * (int64_t)D);
        apply_one(TEST_DAY, views_of(&other, 10));
    }
    apply_one(TEST_DAY + H, views_of(&v, 19999));
    assert_int_equal(load(&v).went_viral_at, TIME_NONE);
    /* The new threshold of 10,000 is below the views, so the stored threshold stays unchanged. */
    assert_int_equal(load(&v).viral.threshold, 20000);
    apply_one(TEST_DAY + 2 * H, views_of(&v, 20000));
    assert_int_equal(load(&v).went_viral_at, TEST_DAY + 2 * H);
    assert_true(load(&v).viral.threshold < 20000);
}

static void other_authors_do_not_affect_the_threshold(void **state)
{
    (void)state;
    struct author a = make_author(1), b = make_author(2);
    make_history(&b, (const int64_t[]){90000, 90000, 90000, 90000, 90000});
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, 10));
    assert_int_equal(load(&v).viral.compared, 0);
}

/* --- events --- */

static void gain_over_several_milestones_causes_one_event_for_each(void **state)
{
    (void)state;
    struct author a = make_author(1);
    make_history(&a, (const int64_t[]){6000, 6000, 6000, 6000, 6000}); /* threshold 30,000 */
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, 123456));
    struct seen_events e = events_of(&a);
    static const int64_t values[] = {1000, 10000, 123456, 50000, 100000};
    assert_int_equal(e.n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(e.e[i].value, values[i]);
        assert_int_equal(e.e[i].occurred_at, TEST_DAY + H);
        assert_int_equal(e.e[i].type, i == 2 ? EVENT_WENT_VIRAL : EVENT_MILESTONE_REACHED);
    }
    assert_int_equal(result.milestones, 4);
    assert_int_equal(result.milestone_events, 4);
    assert_int_equal(result.viral_events, 1);
}

static void milestones_are_reached_once(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, 999));
    assert_int_equal(load(&v).milestone_count, 0);
    apply_one(TEST_DAY + 2 * H, views_of(&v, 1000));
    assert_int_equal(load(&v).milestone_count, 1);
    assert_int_equal(load(&v).milestones[0].reached_at, TEST_DAY + 2 * H);
    apply_one(TEST_DAY + 3 * H, views_of(&v, 1001));
    assert_int_equal(events_of(&a).n, 1);
}

static void events_start_exactly_at_history_start(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct step_rules rules = default_rules;
    rules.history_start_ms = TEST_DAY + 5 * H;
    step_fini(&step);
    step_init(&step, &rules);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + 5 * H - 1, views_of(&v, 12000));
    assert_int_equal(events_of(&a).n, 0);
    assert_int_equal(load(&v).milestone_count, 2);
    assert_int_equal(load(&v).went_viral_at, TEST_DAY + 4 * H);
    apply_one(TEST_DAY + 5 * H, views_of(&v, 50000));
    assert_int_equal(events_of(&a).n, 1);
}

static void events_of_a_step_are_ordered_by_video_id(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video third = make_video(&a, 3, TEST_DAY), first = make_video(&a, 1, TEST_DAY),
                 second = make_video(&a, 2, TEST_DAY);
    struct reading r[] = {views_of(&third, 1000), views_of(&first, 1000), views_of(&second, 1000)};
    apply(TEST_DAY + H, r, 3);
    struct seen_events e = events_of(&a);
    assert_int_equal(e.n, 3);
    assert_int_equal(e.e[0].video_row, first.row);
    assert_int_equal(e.e[1].video_row, second.row);
    assert_int_equal(e.e[2].video_row, third.row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP_TEST(video_goes_viral_at_exactly_the_threshold),
        STEP_TEST(values_stored_when_a_video_goes_viral_never_change),
        STEP_TEST(threshold_is_five_times_the_median_of_an_author_with_history),
        STEP_TEST(video_is_not_compared_with_itself),
        STEP_TEST(only_videos_old_enough_are_compared),
        STEP_TEST(videos_with_their_first_reading_in_the_same_step_are_compared),
        STEP_TEST(video_with_its_first_reading_at_exactly_the_minimum_age_is_compared),
        STEP_TEST(threshold_equal_to_the_views_is_not_stored),
        STEP_TEST(comparison_uses_the_views_after_the_step),
        STEP_TEST(only_the_newest_videos_are_compared),
        STEP_TEST(video_without_a_gain_does_not_go_viral),
        STEP_TEST(other_authors_do_not_affect_the_threshold),
        STEP_TEST(gain_over_several_milestones_causes_one_event_for_each),
        STEP_TEST(milestones_are_reached_once),
        STEP_TEST(events_start_exactly_at_history_start),
        STEP_TEST(events_of_a_step_are_ordered_by_video_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

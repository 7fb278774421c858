/* Tests the step engine on a database with examples computed by hand: counts, baselines, rejections, replays
 * and finalizing. */
#include "lib/steps.h"

#include "base/clock.h"
#include "base/hash.h"
#include "lib/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- counts --- */

static void views_never_fall_but_other_counts_may(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    struct reading r = {.video_row = v.row, .platform = PLATFORM_YOUTUBE, .counts = {100, 10, 9, 8, 7}};
    apply_one(TEST_DAY + H, r);
    struct reading lower = {
        .video_row = v.row, .platform = PLATFORM_YOUTUBE, .counts = {90, 5, COUNT_NONE, 0, 7}};
    apply_one(TEST_DAY + 2 * H, lower);
    struct video now = load(&v);
    assert_int_equal(now.views, 100);
    assert_int_equal(now.posts[0].counts[COUNT_VIEWS], 100);
    assert_int_equal(now.posts[0].counts[COUNT_LIKES], 5);
    assert_int_equal(now.posts[0].counts[COUNT_COMMENTS], 9);
    assert_int_equal(now.posts[0].counts[COUNT_SHARES], 0);
    assert_int_equal(now.posts[0].updated_at, TEST_DAY + 2 * H);
    assert_int_equal(now.updated_at, TEST_DAY + 2 * H);
    assert_int_equal(now.first_reading_at, TEST_DAY + H);
    assert_int_equal(gained_on(&v, date_of(TEST_DAY)), 100);
    assert_int_equal(result.gained, 0);
}

static void reading_without_counts_updates_the_reading_times(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, COUNT_NONE));
    struct video now = load(&v);
    assert_int_equal(now.views, 0);
    assert_int_equal(now.posts[0].counts[COUNT_VIEWS], COUNT_NONE);
    assert_int_equal(now.updated_at, TEST_DAY + H);
    assert_int_equal(now.first_reading_at, TEST_DAY + H);
    apply_one(TEST_DAY + 2 * H, views_of(&v, 0));
    assert_int_equal(load(&v).posts[0].counts[COUNT_VIEWS], 0);
    struct author seen;
    assert_int_equal(store_get_author(db.w, &db.arena, a.row, &seen), OK);
    assert_int_equal(seen.views_refreshed_at, TEST_DAY + 2 * H);
    assert_true(seen.rev > a.rev);
}

/* Some platform responses contain likes but no views. */
static void reading_of_other_counts_than_views_changes_no_reading_time(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    struct reading likes = views_of(&v, COUNT_NONE);
    likes.lacks_views = true;
    likes.counts[COUNT_LIKES] = 5;
    apply_one(TEST_DAY + H, likes);
    struct video now = load(&v);
    assert_int_equal(now.posts[0].counts[COUNT_LIKES], 5);
    assert_int_equal(now.posts[0].counts[COUNT_VIEWS], COUNT_NONE);
    assert_true(now.posts[0].updated_at == TIME_NONE && now.updated_at == TIME_NONE &&
                now.first_reading_at == TIME_NONE);
    assert_int_equal(result.videos_changed, 1);
    apply_one(TEST_DAY + 2 * H, views_of(&v, 1500));
    likes.counts[COUNT_LIKES] = 4;
    apply_one(TEST_DAY + 3 * H, likes);
    now = load(&v);
    assert_int_equal(now.posts[0].counts[COUNT_LIKES], 4);
    assert_int_equal(now.posts[0].updated_at, TEST_DAY + 2 * H);
    assert_int_equal(now.updated_at, TEST_DAY + 2 * H);
    assert_int_equal(now.first_reading_at, TEST_DAY + 2 * H);
    assert_int_equal(now.views, 1500);
    /* Applying the same reading again changes nothing. A reading that is older than the last reading of
     * views is rejected. */
    apply_one(TEST_DAY + 3 * H, likes);
    assert_int_equal(result.videos_changed, 0);
    assert_int_equal(result.unchanged, 1);
    assert_int_equal(rejection_of(TEST_DAY + H, LATER, likes), REJECTION_STALE);
    /* If a reading of views is in the same step, the views are applied. */
    struct video w = make_video(&a, 2, TEST_DAY);
    add_post(&w, PLATFORM_FACEBOOK, TEST_DAY);
    struct reading both[] = {views_of(&w, 100), on(PLATFORM_FACEBOOK, likes)};
    both[1].video_row = w.row;
    apply(TEST_DAY + 5 * H, both, 2);
    assert_int_equal(load(&w).updated_at, TEST_DAY + 5 * H);
    assert_int_equal(load(&w).views, 100);
}

static void total_is_the_sum_of_the_posts(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    add_post(&v, PLATFORM_TIKTOK, TEST_DAY + H);
    struct reading r[] = {views_of(&v, 300), on(PLATFORM_TIKTOK, views_of(&v, 200))};
    apply(TEST_DAY + 2 * H, r, 2);
    assert_int_equal(load(&v).views, 500);
    apply_one(TEST_DAY + 3 * H, on(PLATFORM_TIKTOK, views_of(&v, 250)));
    assert_int_equal(load(&v).views, 550);
    assert_int_equal(load(&v).posts[1].updated_at, TEST_DAY + 2 * H); /* youtube */
    assert_int_equal(gained_on(&v, date_of(TEST_DAY)), 550);
}

/* A late reading of a second post counts on the date of the video's views_updated_at, which never decreases.
 */
static void gain_belongs_to_the_date_of_the_last_update_of_the_video(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    add_post(&v, PLATFORM_TIKTOK, TEST_DAY);
    apply_one(TEST_DAY + D + H, views_of(&v, 100));
    apply_one(TEST_DAY + 5 * H, on(PLATFORM_TIKTOK, views_of(&v, 1000)));
    struct video now = load(&v);
    assert_int_equal(now.updated_at, TEST_DAY + D + H);
    assert_int_equal(now.posts[0].updated_at, TEST_DAY + 5 * H);
    assert_int_equal(now.first_reading_at, TEST_DAY + 5 * H);
    assert_int_equal(gained_on(&v, date_of(TEST_DAY)), 0);
    assert_int_equal(gained_on(&v, date_of(TEST_DAY) + 1), 1100);
    assert_int_equal(now.milestones[0].reached_at, TEST_DAY + D + H);
}

static void last_millisecond_of_a_day_belongs_to_it(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + D - 1, views_of(&v, 10));
    apply_one(TEST_DAY + D, views_of(&v, 30));
    assert_int_equal(gained_on(&v, date_of(TEST_DAY)), 10);
    assert_int_equal(gained_on(&v, date_of(TEST_DAY) + 1), 20);
}

/* --- baseline --- */

static void baseline_is_no_gain_and_causes_no_event(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, baseline_of(&v, 60000));
    struct video now = load(&v);
    assert_int_equal(now.views, 60000);
    assert_int_equal(now.baseline, 60000);
    assert_true(now.baseline_pending);
    assert_int_equal(now.went_viral_at, TIME_NONE);
    assert_int_equal(now.milestone_count, 3);
    assert_int_equal(now.milestones[2].value, 50000);
    assert_int_equal(now.milestones[2].reached_at, TEST_DAY + H);
    assert_int_equal(query_i64(db.path, "SELECT count(*) FROM daily"), 0);
    assert_int_equal(events_of(&a).n, 0);
    assert_int_equal(result.baseline, 60000);
    assert_int_equal(result.gained, 0);
}

/* The post has 100 views. The highest baseline of the step is 150, the highest ordinary reading 180. */
static void only_views_above_the_baseline_of_the_same_step_are_gained(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, 100));
    struct reading r[] = {baseline_of(&v, 120), views_of(&v, 180), baseline_of(&v, 150), views_of(&v, 160)};
    apply(TEST_DAY + 2 * H, r, 4);
    assert_int_equal(load(&v).baseline, 50);
    assert_int_equal(load(&v).views, 180);
    assert_int_equal(gained_on(&v, date_of(TEST_DAY)), 130);
    /* An ordinary reading below the baseline causes no gain. */
    struct reading s[] = {baseline_of(&v, 500), views_of(&v, 400)};
    apply(TEST_DAY + 3 * H, s, 2);
    assert_int_equal(load(&v).baseline, 370);
    assert_int_equal(load(&v).views, 500);
    assert_int_equal(gained_on(&v, date_of(TEST_DAY)), 130);
}

static void only_milestones_above_the_baseline_cause_events(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    struct reading r[] = {baseline_of(&v, 10000), views_of(&v, 50000)};
    apply(TEST_DAY + H, r, 2);
    struct seen_events e = events_of(&a);
    assert_int_equal(load(&v).milestone_count, 3);
    /* The milestone 50,000 is reached by a gain; 1,000 and 10,000 are reached by the baseline and cause no
     * event. Going viral causes no event either, because the baseline alone reached the threshold of
     * 10,000. */
    assert_int_equal(e.n, 1);
    assert_int_equal(e.e[0].value, 50000);
    assert_int_equal(load(&v).went_viral_at, TEST_DAY + H);
}

/* --- rejections --- */

static void readings_are_rejected_exactly_beyond_the_limits(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    add_post(&v, PLATFORM_TIKTOK, TEST_DAY + 2 * D);
    const int64_t end = TEST_DAY + 30 * (int64_t)D;
    struct reading r = views_of(&v, 1);
    assert_int_equal(rejection_of(TEST_DAY, LATER, on(PLATFORM_FACEBOOK, r)), REJECTION_UNKNOWN_POST);
    assert_int_equal(rejection_of(TEST_DAY + H + 60000, TEST_DAY + H, r), REJECTION_NONE);
    assert_int_equal(rejection_of(TEST_DAY + H + 60001, TEST_DAY + H, r), REJECTION_FUTURE);
    assert_int_equal(rejection_of(TEST_DAY, LATER, r), REJECTION_NONE);
    assert_int_equal(rejection_of(TEST_DAY - 1, LATER, r), REJECTION_BEFORE_POST);
    assert_int_equal(rejection_of(TEST_DAY + D, LATER, on(PLATFORM_TIKTOK, r)), REJECTION_BEFORE_POST);
    assert_int_equal(rejection_of(end, LATER, r), REJECTION_NONE);
    assert_int_equal(rejection_of(end + 1, LATER, r), REJECTION_AFTER_LIFE);
    /* The 30 days begin with the video, which was posted before this post. */
    assert_int_equal(rejection_of(end + 1, LATER, on(PLATFORM_TIKTOK, r)), REJECTION_AFTER_LIFE);
    apply_one(TEST_DAY + 3 * H, r);
    assert_int_equal(rejection_of(TEST_DAY + 3 * H, LATER, r), REJECTION_NONE);
    assert_int_equal(rejection_of(TEST_DAY + 3 * H - 1, LATER, r), REJECTION_STALE);
    /* The first of two reasons is reported. */
    assert_int_equal(rejection_of(TEST_DAY - 1, TEST_DAY - 2 * H, r), REJECTION_FUTURE);
    assert_int_equal(rejection_of(TEST_DAY - 1, LATER, r), REJECTION_BEFORE_POST);
}

/* An operator can remove a video while a refresh run has readings of it. */
static void reading_of_a_removed_video_is_rejected(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    struct reading r = views_of(&v, 1);
    r.video_row++;
    assert_int_equal(rejection_of(TEST_DAY, LATER, r), REJECTION_UNKNOWN_POST);
}

/* An import can correct the id of a post while a refresh run has a reading of the post. */
static void reading_of_a_post_that_has_another_id_now_is_rejected(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    struct reading r = views_of(&v, 1);
    r.post_id_hash = hash_64(load(&v).posts[0].post_id, 0);
    assert_int_equal(rejection_of(TEST_DAY, LATER, r), REJECTION_NONE);
    r.post_id_hash = hash_64(STR("another id"), 0);
    assert_int_equal(rejection_of(TEST_DAY, LATER, r), REJECTION_UNKNOWN_POST);
}

static void each_rejection_has_a_text(void **state)
{
    (void)state;
    assert_true(str_eq(rejection_text(REJECTION_UNKNOWN_POST), STR("unknown post")));
    assert_true(str_eq(rejection_text(REJECTION_FUTURE), STR("observed_at is more than 60 s in the future")));
    assert_true(
        str_eq(rejection_text(REJECTION_BEFORE_POST), STR("observed_at is before the post's posted_at")));
    assert_true(str_eq(rejection_text(REJECTION_AFTER_LIFE),
                       STR("observed_at is after the video's posted_at + 30 days")));
    assert_true(
        str_eq(rejection_text(REJECTION_STALE), STR("observed_at is older than the post's last reading")));
}

static void rejected_readings_change_nothing(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    struct buf before, after;
    enum rejection rejection;
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    dump_database(db.path, &before);
    struct reading r = views_of(&v, 5000);
    test_begin(&db);
    step_begin(&step, db.w, TEST_DAY - 1, LATER);
    assert_int_equal(step_add(&step, &r, &rejection), OK);
    assert_int_equal(step_finish(&step, &result), OK);
    test_commit(&db);
    dump_database(db.path, &after);
    assert_same_dump(&before, &after);
    buf_fini(&before);
    buf_fini(&after);
}

/* --- replays and finalizing --- */

/* A replay must not recompute the threshold from the present views of the other videos. */
static void replayed_step_changes_nothing(void **state)
{
    (void)state;
    struct author a = make_author(1);
    make_history(&a, (const int64_t[]){4000, 4000, 4000, 4000, 4000});
    struct video v = make_video(&a, 1, TEST_DAY);
    struct reading r = {
        .video_row = v.row, .platform = PLATFORM_YOUTUBE, .counts = {5000, 1, 2, 3, COUNT_NONE}};
    apply_one(TEST_DAY + H, r);
    for (uint64_t i = 0; i < 5; i++) {
        struct video other = make_video(&a, 50 + i, TEST_DAY - 19 * (int64_t)D);
        apply_one(TEST_DAY, views_of(&other, 9000));
    }
    struct video before = load(&v);
    apply_one(TEST_DAY + H, r);
    assert_int_equal(result.videos_changed, 0);
    assert_int_equal(load(&v).viral.threshold, before.viral.threshold);
    r.counts[COUNT_LIKES] = 7; /* a correction, not a replay */
    apply_one(TEST_DAY + H, r);
    assert_int_equal(load(&v).posts[0].counts[COUNT_LIKES], 7);
    assert_true(load(&v).viral.threshold > before.viral.threshold);
}

static void finalizing_makes_a_video_viral_if_its_baseline_reaches_the_threshold(void **state)
{
    (void)state;
    struct author a = make_author(1);
    make_history(&a, (const int64_t[]){1000, 2000, 4000, 20000, 20000});
    struct video at = make_video(&a, 1, TEST_DAY - 2 * D), below = make_video(&a, 2, TEST_DAY - 2 * D);
    apply_one(TEST_DAY + 90 * MINUTE_MS, baseline_of(&at, 20000));
    apply_one(TEST_DAY + 90 * MINUTE_MS, baseline_of(&below, 19999));
    finalize_all();
    struct video now = load(&at);
    assert_int_equal(now.went_viral_at, TEST_DAY + H);
    assert_int_equal(now.views_when_viral, 20000);
    assert_int_equal(now.viral.threshold, 20000);
    assert_int_equal(now.viral.median, 4000);
    assert_false(now.baseline_pending);
    now = load(&below);
    assert_int_equal(now.went_viral_at, TIME_NONE);
    assert_int_equal(now.viral.threshold, 20000);
    assert_false(now.baseline_pending);
    assert_int_equal(query_i64(db.path, "SELECT count(*) FROM videos WHERE baseline_pending = 1"), 0);
    assert_int_equal(events_of(&a).n, 0);
}

/* Finalizing compares the baseline with the present threshold, even if the stored threshold is higher. */
static void finalizing_uses_the_current_threshold_even_if_the_stored_one_is_higher(void **state)
{
    (void)state;
    struct author a = make_author(1);
    make_history(&a, (const int64_t[]){6000, 6000, 6000, 6000, 6000});
    struct video at = make_video(&a, 1, TEST_DAY), below = make_video(&a, 2, TEST_DAY);
    struct reading b[] = {baseline_of(&at, 20000), baseline_of(&below, 19999)};
    apply(TEST_DAY + H, b, 2);
    assert_int_equal(load(&at).viral.threshold, 30000);
    for (uint64_t i = 0; i < 5; i++) { /* the median falls to 4,000 */
        struct video low = make_video(&a, 50 + i, TEST_DAY - 19 * (int64_t)D);
        apply_one(TEST_DAY, views_of(&low, 2000));
    }
    finalize_all();
    assert_int_equal(load(&at).went_viral_at, TEST_DAY + H);
    assert_int_equal(load(&at).viral.threshold, 20000);
    assert_int_equal(load(&below).went_viral_at, TIME_NONE);
    assert_int_equal(load(&below).viral.threshold, 20000);
}

/* A video with a pending baseline that goes viral by a gain causes an event, unless the baseline alone has
 * reached the threshold. */
static void gain_causes_a_viral_event_unless_the_pending_baseline_reached_the_threshold(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video above = make_video(&a, 1, TEST_DAY), below = make_video(&a, 2, TEST_DAY);
    struct reading b[] = {baseline_of(&above, 10000), baseline_of(&below, 9999)};
    apply(TEST_DAY + H, b, 2);
    struct reading g[] = {views_of(&above, 10001), views_of(&below, 10001)};
    apply(TEST_DAY + 2 * H, g, 2);
    assert_int_equal(load(&above).went_viral_at, TEST_DAY + 2 * H);
    assert_int_equal(load(&below).went_viral_at, TEST_DAY + 2 * H);
    struct seen_events e = events_of(&a);
    assert_int_equal(e.n, 2);
    assert_int_equal(e.e[0].video_row, below.row);
    assert_int_equal(e.e[0].type, EVENT_MILESTONE_REACHED);
    assert_int_equal(e.e[1].type, EVENT_WENT_VIRAL);
}

/* A gain of 9,000 and a baseline of 3,000 are 12,000 views. They exceed both the stored and the current
 * threshold of 10,000, so finalizing makes the video viral. */
static void finalizing_makes_a_video_viral_whose_views_exceed_its_threshold(void **state)
{
    (void)state;
    struct author a = make_author(1);
    struct video v = make_video(&a, 1, TEST_DAY);
    apply_one(TEST_DAY + H, views_of(&v, 9000));
    apply_one(TEST_DAY + 2 * H, baseline_of(&v, 12000));
    assert_int_equal(load(&v).went_viral_at, TIME_NONE);
    finalize_all();
    assert_int_equal(load(&v).went_viral_at, TEST_DAY + 2 * H);
    assert_int_equal(load(&v).views_when_viral, 12000);
    assert_int_equal(events_of(&a).n, 1); /* milestone 1,000 */
}

/* A step with many videos makes the hash table grow. A small step afterwards must still be correct. */
static void step_applies_to_a_thousand_videos(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    struct author a = make_author(1);
    struct reading *r = calloc(MANY, sizeof *r);
    struct video v;
    test_begin(&db);
    for (uint64_t i = 0; i < MANY; i++) {
        v = add_video(&db, &a, 0, i + 1, TEST_DAY);
        r[i] = views_of(&v, (int64_t)i);
    }
    test_commit(&db);
    apply(TEST_DAY + H, r, MANY);
    assert_int_equal(result.videos_changed, MANY);
    assert_int_equal(result.gained, MANY * (MANY - 1) / 2);
    apply_one(TEST_DAY + 2 * H, views_of(&v, 5000));
    assert_int_equal(result.videos_changed, 1);
    assert_int_equal(query_i64(db.path, "SELECT sum(views) FROM videos"), MANY * (MANY - 1) / 2 - 999 + 5000);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP_TEST(views_never_fall_but_other_counts_may),
        STEP_TEST(reading_without_counts_updates_the_reading_times),
        STEP_TEST(reading_of_other_counts_than_views_changes_no_reading_time),
        STEP_TEST(total_is_the_sum_of_the_posts),
        STEP_TEST(gain_belongs_to_the_date_of_the_last_update_of_the_video),
        STEP_TEST(last_millisecond_of_a_day_belongs_to_it),
        STEP_TEST(baseline_is_no_gain_and_causes_no_event),
        STEP_TEST(only_views_above_the_baseline_of_the_same_step_are_gained),
        STEP_TEST(only_milestones_above_the_baseline_cause_events),
        STEP_TEST(readings_are_rejected_exactly_beyond_the_limits),
        STEP_TEST(reading_of_a_removed_video_is_rejected),
        STEP_TEST(reading_of_a_post_that_has_another_id_now_is_rejected),
        STEP_TEST(each_rejection_has_a_text),
        STEP_TEST(rejected_readings_change_nothing),
        STEP_TEST(replayed_step_changes_nothing),
        STEP_TEST(finalizing_makes_a_video_viral_if_its_baseline_reaches_the_threshold),
        STEP_TEST(finalizing_uses_the_current_threshold_even_if_the_stored_one_is_higher),
        STEP_TEST(gain_causes_a_viral_event_unless_the_pending_baseline_reached_the_threshold),
        STEP_TEST(finalizing_makes_a_video_viral_whose_views_exceed_its_threshold),
        STEP_TEST(step_applies_to_a_thousand_videos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

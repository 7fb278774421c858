/* Tests the comparison of the event feed with the milestones and viral marks of videos. */
#include "rules/feed_check.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define START (INT64_C(20600) * DAY_MS) /* of the history */
#define T     (START + 5 * (int64_t)DAY_MS)

enum { FOUND_MAX = 16 };

static struct feed_check check;
static struct feed_difference found[FOUND_MAX];
static int found_count;

static void on_difference(void *ctx, const struct feed_difference *d)
{
    (void)ctx;
    assert_true(found_count < FOUND_MAX);
    found[found_count++] = *d;
}

static struct video video_of(int64_t row)
{
    return (struct video){
        .row = row,
        .author_row = 1,
        .views = 60000,
        .went_viral_at = T - T % HOUR_MS,
        .views_when_viral = 20000,
        .viral = {.threshold = 15000, .median = 3000, .compared = 7},
        .milestone_count = 3,
        .milestones = {{1000, T - 1000}, {10000, T}, {50000, T + 1000}},
    };
}

static struct event milestone_event(int64_t id, int64_t video_row, int64_t value, int64_t at)
{
    return (struct event){.id = id,
                          .type = EVENT_MILESTONE_REACHED,
                          .video_row = video_row,
                          .value = value,
                          .occurred_at = at,
                          .median = COUNT_NONE};
}

static struct event viral_event(int64_t id, int64_t video_row)
{
    return (struct event){.id = id,
                          .type = EVENT_WENT_VIRAL,
                          .video_row = video_row,
                          .value = 20000,
                          .occurred_at = T,
                          .threshold = 15000,
                          .median = 3000};
}

/* Fills in the events, with the ids 1 to 4, that the video of video_of() must have. */
static void events_of(int64_t row, struct event out[4])
{
    out[0] = milestone_event(1, row, 1000, T - 1000);
    out[1] = milestone_event(2, row, 10000, T);
    out[2] = viral_event(3, row);
    out[3] = milestone_event(4, row, 50000, T + 1000);
}

static void compare(const struct event *events, size_t count, const struct video *videos, size_t video_count)
{
    found_count = 0;
    feed_check_begin(&check, START, on_difference, NULL);
    for (size_t i = 0; i < count; i++)
        feed_check_add_event(&check, &events[i]);
    for (size_t i = 0; i < video_count; i++)
        feed_check_video(&check, &videos[i]);
    feed_check_end(&check);
}

static int set_up(void **state)
{
    (void)state;
    check = (struct feed_check){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    feed_check_fini(&check);
    return 0;
}

static void assert_found(enum feed_problem problem, enum event_type type, int64_t value, int64_t event_id)
{
    assert_int_equal(found_count, 1);
    assert_int_equal(found[0].problem, problem);
    assert_int_equal(found[0].type, type);
    assert_int_equal(found[0].value, value);
    assert_int_equal(found[0].event_id, event_id);
    assert_true(feed_problem_text(problem).len > 0);
}

static void complete_feed_has_no_difference(void **state)
{
    (void)state;
    struct event events[8];
    const struct video videos[] = {video_of(3), video_of(7)};
    events_of(7, events); /* the feed mixes the events of several videos of an author */
    events_of(3, events + 4);
    compare(events, 8, videos, 2);
    assert_int_equal(found_count, 0);
    compare(NULL, 0, NULL, 0);
    assert_int_equal(found_count, 0);
    assert_int_equal(check.videos, 2);
    assert_int_equal(check.undecided, 0);
}

/* Leaves out one event at a time. */
static void each_missing_event_is_reported(void **state)
{
    (void)state;
    static const int64_t values[] = {1000, 10000, 20000, 50000};
    const struct video video = video_of(3);
    for (size_t missing = 0; missing < 4; missing++) {
        struct event all[4], events[3];
        size_t count = 0;
        events_of(3, all);
        for (size_t i = 0; i < 4; i++)
            if (i != missing)
                events[count++] = all[i];
        compare(events, count, &video, 1);
        assert_found(FEED_EVENT_MISSING, missing == 2 ? EVENT_WENT_VIRAL : EVENT_MILESTONE_REACHED,
                     values[missing], 0);
        assert_ptr_equal(found[0].video, &video);
    }
}

static void missing_event_before_the_start_of_the_history_is_not_reported(void **state)
{
    (void)state;
    struct video video = video_of(3);
    struct event events[] = {milestone_event(4, 3, 50000, START)};
    video.milestones[0].reached_at = START - 2;
    video.milestones[1].reached_at = START - 1;
    video.milestones[2].reached_at = START;
    video.went_viral_at = START - HOUR_MS;
    compare(events, 1, &video, 1);
    assert_int_equal(found_count, 0);
    compare(events, 0, &video, 1);
    assert_found(FEED_EVENT_MISSING, EVENT_MILESTONE_REACHED, 50000, 0);
}

static void missing_event_of_a_video_with_a_baseline_counts_as_undecided(void **state)
{
    (void)state;
    struct video video = video_of(3);
    struct event event = milestone_event(4, 3, 50000, T + 1000);
    video.baseline = 30000;
    compare(&event, 1, &video, 1);
    assert_int_equal(found_count, 0);
    assert_int_equal(check.undecided, 3);
}

static void each_repeated_event_is_reported(void **state)
{
    (void)state;
    const struct video video = video_of(3);
    for (size_t twice = 0; twice < 4; twice++) {
        struct event events[5];
        events_of(3, events);
        events[4] = events[twice];
        events[4].id = 9;
        /* A video goes viral only once, so a viral event with another number of views is a duplicate too. */
        if (twice == 2)
            events[4].value++;
        compare(events, 5, &video, 1);
        assert_found(FEED_EVENT_DUPLICATE, events[4].type, events[4].value, 9);
    }
}

static void event_without_a_milestone_or_viral_mark_is_reported(void **state)
{
    (void)state;
    struct event events[5];
    struct video video = video_of(3);
    static const int64_t values[] = {500, 2000, 100000};
    for (size_t i = 0; i < 3; i++) {
        events_of(3, events);
        events[4] = milestone_event(9, 3, values[i], T);
        compare(events, 5, &video, 1);
        assert_found(FEED_MARK_MISSING, EVENT_MILESTONE_REACHED, values[i], 9);
    }
    video.went_viral_at = TIME_NONE;
    compare(events, 4, &video, 1);
    assert_found(FEED_MARK_MISSING, EVENT_WENT_VIRAL, 20000, 3);
}

static void event_with_one_different_member_is_reported(void **state)
{
    (void)state;
    struct event events[4];
    const struct video video = video_of(3);
    for (int member = 0; member < 6; member++) {
        events_of(3, events);
        switch (member) {
        case 0: events[0].occurred_at++; break;
        case 1: events[2].occurred_at += HOUR_MS; break;
        case 2: events[2].occurred_at -= T % HOUR_MS + 1; break;
        case 3: events[2].value++; break;
        case 4: events[2].threshold--; break;
        case 5: events[2].median = COUNT_NONE; break;
        }
        compare(events, 4, &video, 1);
        assert_int_equal(found_count, 1);
        assert_int_equal(found[0].problem, FEED_EVENT_DIFFERS);
        assert_int_equal(found[0].event_id, member ? 3 : 1);
    }
}

static void event_of_an_unknown_video_is_reported(void **state)
{
    (void)state;
    for (int64_t row = 2; row <= 4; row += 2) {
        struct event events[5];
        const struct video video = video_of(3);
        events_of(3, events);
        events[4] = milestone_event(9, row, 1000, T);
        compare(events, 5, &video, 1);
        assert_found(FEED_VIDEO_MISSING, EVENT_MILESTONE_REACHED, 1000, 9);
        assert_null(found[0].video);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(complete_feed_has_no_difference, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_missing_event_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_event_before_the_start_of_the_history_is_not_reported, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(missing_event_of_a_video_with_a_baseline_counts_as_undecided, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_repeated_event_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(event_without_a_milestone_or_viral_mark_is_reported, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(event_with_one_different_member_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(event_of_an_unknown_video_is_reported, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

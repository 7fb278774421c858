/* Tests daily quotas, midnights in Los Angeles, and how often posts are read. */
#include "fetch/read_interval.h"
#include "fetch/quota.h"
#include "fetch/throttle.h"

#include "base/clock.h"
#include "store/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static int64_t at(const char *text)
{
    int64_t t;
    assert_true(time_parse(str_from_cstr(text), &t));
    return t;
}

static void assert_midnight(const char *now, const char *expected)
{
    char text[TIME_TEXT_LEN + 1] = {0};
    time_format(quota_next_midnight(at(now)), text);
    assert_string_equal(text, expected);
}

static void midnight_follows_daylight_saving_time(void **state)
{
    (void)state;
    assert_midnight("2026-01-15T12:00:00Z", "2026-01-16T08:00:00.000Z");
    assert_midnight("2026-07-15T12:00:00Z", "2026-07-16T07:00:00.000Z");
    assert_midnight("2026-07-16T06:59:59.999Z", "2026-07-16T07:00:00.000Z");
    assert_midnight("2026-07-16T07:00:00Z", "2026-07-17T07:00:00.000Z");
    assert_midnight("2025-12-31T20:00:00Z", "2026-01-01T08:00:00.000Z");
    assert_midnight("2026-01-01T08:00:00Z", "2026-01-02T08:00:00.000Z");
}

/* Clocks change on 2026-03-08, 2026-11-01, 2027-03-14 and 2027-11-07. */
static void days_of_clock_changes_have_23_or_25_hours(void **state)
{
    (void)state;
    assert_midnight("2026-03-07T20:00:00Z", "2026-03-08T08:00:00.000Z");
    assert_midnight("2026-03-08T08:00:00Z", "2026-03-09T07:00:00.000Z"); /* 23 hours */
    assert_midnight("2026-03-09T06:59:59Z", "2026-03-09T07:00:00.000Z");
    assert_midnight("2026-03-09T07:30:00Z", "2026-03-10T07:00:00.000Z");
    assert_midnight("2026-11-01T06:59:59Z", "2026-11-01T07:00:00.000Z");
    assert_midnight("2026-11-01T07:00:00Z", "2026-11-02T08:00:00.000Z"); /* 25 hours */
    assert_midnight("2026-11-02T07:30:00Z", "2026-11-02T08:00:00.000Z");
    assert_midnight("2027-03-14T08:00:00Z", "2027-03-15T07:00:00.000Z");
    assert_midnight("2027-11-07T07:00:00Z", "2027-11-08T08:00:00.000Z");
    assert_midnight("2026-03-01T09:00:00Z",
                    "2026-03-02T08:00:00.000Z"); /* the clocks do not change on the first Sunday in March */
}

static void every_day_has_one_midnight(void **state)
{
    (void)state;
    int64_t t = at("2026-01-01T08:00:00Z");
    int days = 0;
    for (; t < at("2030-01-01T08:00:00Z"); days++) {
        const int64_t next = quota_next_midnight(t);
        assert_in_range(next - t, 23 * HOUR_MS, 25 * HOUR_MS);
        t = next;
    }
    assert_int_equal(days, 4 * 365 + 1);
}

static void reserve_of_15_percent_is_withheld_until_15_percent_of_the_day_remain(void **state)
{
    (void)state;
    struct quota q;
    const int64_t noon = at("2026-07-15T19:00:00Z"), midnight = at("2026-07-16T07:00:00Z");
    quota_init(&q, 10000, 15, noon);
    assert_int_equal(quota_left(&q, noon), 8500);
    q.used = 8500;
    assert_int_equal(quota_left(&q, noon), 0);
    assert_int_equal(quota_left(&q, midnight - 216 * MINUTE_MS), 1500);
    assert_int_equal(quota_left(&q, midnight - 217 * MINUTE_MS), 0);
    assert_int_equal(quota_left(&q, midnight), 10000);
    quota_roll_over(&q, midnight - 1);
    assert_int_equal(q.used, 8500);
    quota_roll_over(&q, midnight);
    assert_int_equal(q.used, 0);
    assert_int_equal(q.resets_at, midnight + DAY_MS);
    quota_mark_spent(&q);
    assert_int_equal(quota_left(&q, q.resets_at - 1), 0);
    quota_init(&q, 0, 0, noon);
    assert_true(quota_left(&q, noon) == INT64_MAX && quota_share(&q, noon, HOUR_MS) == INT64_MAX);
}

static void share_divides_quota_among_remaining_runs(void **state)
{
    (void)state;
    struct quota q;
    const int64_t midnight = at("2026-07-16T07:00:00Z");
    quota_init(&q, 10000, 15, midnight - 10 * HOUR_MS);
    q.used = 6500;
    assert_int_equal(quota_share(&q, midnight - 10 * HOUR_MS, HOUR_MS), 200);
    assert_int_equal(quota_share(&q, midnight - HOUR_MS, HOUR_MS), 3500);
    q.used = 8499;
    assert_int_equal(quota_share(&q, midnight - 10 * HOUR_MS, HOUR_MS), 1);
    q.used = 8500;
    assert_int_equal(quota_share(&q, midnight - 10 * HOUR_MS, HOUR_MS), 0);
    /* 24 runs, each of which uses its whole share, together use exactly the quota. */
    int64_t now = midnight, least = 10000;
    quota_init(&q, 10000, 15, now);
    for (int i = 0; i < 24; i++, now += HOUR_MS) {
        const int64_t share = quota_share(&q, now, HOUR_MS);
        least = share < least ? share : least;
        q.used += share;
    }
    assert_true(least > 300);
    assert_int_equal(q.used, 10000);
}

static void restores_usage_of_the_same_day_only(void **state)
{
    (void)state;
    struct quota q;
    const int64_t now = at("2026-07-15T19:00:00Z"), midnight = at("2026-07-16T07:00:00Z");
    quota_init(&q, 10000, 15, now);
    quota_restore(&q, 777, midnight, now);
    assert_int_equal(q.used, 777);
    quota_init(&q, 10000, 15, now);
    quota_restore(&q, 777, midnight - DAY_MS, now);
    assert_int_equal(q.used, 0);
    quota_restore(&q, 777, midnight + 30 * DAY_MS, now); /* saved by a wrong clock */
    assert_int_equal(q.used, 0);
}

/* --- read intervals --- */

static void age_class_boundaries_are_inclusive(void **state)
{
    (void)state;
    const int64_t now = at("2026-07-15T19:00:00Z");
    assert_int_equal(age_class_of(now, now), AGE_DAY);
    assert_int_equal(age_class_of(now - DAY_MS, now), AGE_DAY);
    assert_int_equal(age_class_of(now - DAY_MS - 1, now), AGE_WEEK);
    assert_int_equal(age_class_of(now - 7 * DAY_MS, now), AGE_WEEK);
    assert_int_equal(age_class_of(now - 7 * DAY_MS - 1, now), AGE_OLDER);
}

/* Simulates two days of hourly runs, and checks how often each post is read and how many posts are read in
 * the busiest hour. */
static void reads_are_distributed_evenly_over_the_hours(void **state)
{
    (void)state;
    enum { POSTS = 2400, RUNS = 48 };
    static int64_t read_at[POSTS];
    static int reads[POSTS];
    const int64_t start = at("2026-07-15T19:57:00Z");
    for (int age = AGE_WEEK; age < AGE_CLASSES; age++) {
        const int hours = read_interval_hours((enum age_class)age);
        int most = 0;
        for (int i = 0; i < POSTS; i++) {
            read_at[i] = start - HOUR_MS;
            reads[i] = 0;
        }
        for (int run = 0; run < RUNS; run++) {
            int n = 0;
            const int64_t now = start + run * HOUR_MS + run % 3 * MINUTE_MS / 2;
            for (int i = 0; i < POSTS; i++)
                if (read_is_due((enum age_class)age, (uint64_t)i * 2654435761u, read_at[i], now)) {
                    read_at[i] = now;
                    reads[i]++;
                    n++;
                }
            most = n > most ? n : most;
        }
        for (int i = 0; i < POSTS; i++)
            assert_in_range(reads[i], RUNS / hours, RUNS / hours + 1);
        assert_in_range(most, POSTS / hours, POSTS / hours * 3 / 2);
    }
}

static void new_and_overdue_posts_are_due(void **state)
{
    (void)state;
    const int64_t now = at("2026-07-15T20:00:00Z");
    int due = 0;
    for (uint64_t key = 0; key < 24; key++) {
        assert_true(read_is_due(AGE_OLDER, key, TIME_NONE, now));
        assert_true(read_is_due(AGE_OLDER, key, now - 25 * HOUR_MS, now));
        assert_true(read_is_due(AGE_DAY, key, now - HOUR_MS, now));
        due += read_is_due(AGE_OLDER, key, now - 23 * HOUR_MS, now);
    }
    assert_int_equal(due, 1);
}

static void posts_missing_for_a_day_are_read_daily(void **state)
{
    (void)state;
    const int64_t now = at("2026-07-15T20:00:00Z");
    assert_false(missing_is_daily(2, now - 3 * DAY_MS, now));
    assert_false(missing_is_daily(30, now - 23 * HOUR_MS, now));
    assert_true(missing_is_daily(3, now - DAY_MS, now));
    assert_true(missing_is_due(2, now - 3 * DAY_MS, now - HOUR_MS, now));
    assert_false(missing_is_due(3, now - DAY_MS, now - HOUR_MS, now));
    assert_false(missing_is_due(9, now - 3 * DAY_MS, now - 23 * HOUR_MS, now));
    assert_true(missing_is_due(9, now - 3 * DAY_MS, now - 24 * HOUR_MS + MINUTE_MS, now));
    assert_true(missing_is_due(9, now - 3 * DAY_MS, now + HOUR_MS, now)); /* the clock was set back */
}

static void another_form_is_used_only_if_its_quota_is_known(void **state)
{
    struct throttle t = {.api = API_YOUTUBE, .desc = platform_desc(API_YOUTUBE), .begun = 1};
    const int64_t now = clock_wall_ms();
    (void)state;
    assert_true(t.desc->quota_by_tier);
    for (int tier = 0; tier < THROTTLE_QUOTAS; tier++)
        quota_init(&t.quotas[tier], 0, 0, now); /* the configuration sets no quota */
    assert_false(throttle_spend_quota(&t, 0));
    for (int tier = 0; tier < THROTTLE_QUOTAS; tier++)
        quota_init(&t.quotas[tier], 100, 0, now);
    assert_true(throttle_spend_quota(&t, 0));
    assert_false(throttle_spend_quota(&t, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(midnight_follows_daylight_saving_time),
        cmocka_unit_test(days_of_clock_changes_have_23_or_25_hours),
        cmocka_unit_test(every_day_has_one_midnight),
        cmocka_unit_test(reserve_of_15_percent_is_withheld_until_15_percent_of_the_day_remain),
        cmocka_unit_test(share_divides_quota_among_remaining_runs),
        cmocka_unit_test(restores_usage_of_the_same_day_only),
        cmocka_unit_test(age_class_boundaries_are_inclusive),
        cmocka_unit_test(reads_are_distributed_evenly_over_the_hours),
        cmocka_unit_test(new_and_overdue_posts_are_due),
        cmocka_unit_test(posts_missing_for_a_day_are_read_daily),
        cmocka_unit_test(another_form_is_used_only_if_its_quota_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

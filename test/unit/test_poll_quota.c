/* Quotas of a day, midnights in Los Angeles, and who is asked for when there is not enough for all. */
#include "fetch/read_interval.h"
#include "fetch/quota.h"

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

static void midnight_in_winter_and_in_summer(void **state)
{
    (void)state;
    assert_midnight("2026-01-15T12:00:00Z", "2026-01-16T08:00:00.000Z");
    assert_midnight("2026-07-15T12:00:00Z", "2026-07-16T07:00:00.000Z");
    assert_midnight("2026-07-16T06:59:59.999Z", "2026-07-16T07:00:00.000Z");
    assert_midnight("2026-07-16T07:00:00Z", "2026-07-17T07:00:00.000Z");
    assert_midnight("2025-12-31T20:00:00Z", "2026-01-01T08:00:00.000Z");
    assert_midnight("2026-01-01T08:00:00Z", "2026-01-02T08:00:00.000Z");
}

/* 2026-03-08 and 2026-11-01, 2027-03-14 and 2027-11-07. */
static void the_days_on_which_clocks_are_set(void **state)
{
    (void)state;
    assert_midnight("2026-03-07T20:00:00Z", "2026-03-08T08:00:00.000Z");
    assert_midnight("2026-03-08T08:00:00Z", "2026-03-09T07:00:00.000Z"); /* a day of 23 hours */
    assert_midnight("2026-03-09T06:59:59Z", "2026-03-09T07:00:00.000Z");
    assert_midnight("2026-03-09T07:30:00Z", "2026-03-10T07:00:00.000Z");
    assert_midnight("2026-11-01T06:59:59Z", "2026-11-01T07:00:00.000Z");
    assert_midnight("2026-11-01T07:00:00Z", "2026-11-02T08:00:00.000Z"); /* of 25 */
    assert_midnight("2026-11-02T07:30:00Z", "2026-11-02T08:00:00.000Z");
    assert_midnight("2027-03-14T08:00:00Z", "2027-03-15T07:00:00.000Z");
    assert_midnight("2027-11-07T07:00:00Z", "2027-11-08T08:00:00.000Z");
    assert_midnight("2026-03-01T09:00:00Z", "2026-03-02T08:00:00.000Z"); /* the first Sunday is not it */
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

static void the_reserve_is_for_the_end_of_the_day(void **state)
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
    quota_turn(&q, midnight - 1);
    assert_int_equal(q.used, 8500);
    quota_turn(&q, midnight);
    assert_int_equal(q.used, 0);
    assert_int_equal(q.resets_at, midnight + DAY_MS);
    quota_spend_all(&q);
    assert_int_equal(quota_left(&q, q.resets_at - 1), 0);
    quota_init(&q, 0, 0, noon);
    assert_true(quota_left(&q, noon) == INT64_MAX && quota_share(&q, noon, HOUR_MS) == INT64_MAX);
}

static void a_run_gets_its_share_of_the_rest_of_the_day(void **state)
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
    /* 24 runs that use all they may leave something for each of them. */
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

static void an_earlier_run_counts_on_the_same_day_only(void **state)
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
    quota_restore(&q, 777, midnight + 30 * DAY_MS, now); /* by a clock that was wrong */
    assert_int_equal(q.used, 0);
}

/* --- the ladder --- */

static void rungs_go_by_age(void **state)
{
    (void)state;
    const int64_t now = at("2026-07-15T19:00:00Z");
    assert_int_equal(ladder_rung_of(now, now), RUNG_DAY);
    assert_int_equal(ladder_rung_of(now - DAY_MS, now), RUNG_DAY);
    assert_int_equal(ladder_rung_of(now - DAY_MS - 1, now), RUNG_WEEK);
    assert_int_equal(ladder_rung_of(now - 7 * DAY_MS, now), RUNG_WEEK);
    assert_int_equal(ladder_rung_of(now - 7 * DAY_MS - 1, now), RUNG_MONTH);
}

/* Two days of hourly runs: how often a post is read, and how many posts in the fullest hour. */
static void each_post_in_its_hour_and_the_hours_alike(void **state)
{
    (void)state;
    enum { POSTS = 2400, RUNS = 48 };
    static int64_t read_at[POSTS];
    static int reads[POSTS];
    const int64_t start = at("2026-07-15T19:57:00Z");
    for (int rung = RUNG_WEEK; rung < RUNGS; rung++) {
        const int hours = ladder_hours((enum ladder_rung)rung);
        int most = 0;
        for (int i = 0; i < POSTS; i++) {
            read_at[i] = start - HOUR_MS;
            reads[i] = 0;
        }
        for (int run = 0; run < RUNS; run++) {
            int n = 0;
            const int64_t now = start + run * HOUR_MS + run % 3 * MINUTE_MS / 2;
            for (int i = 0; i < POSTS; i++)
                if (ladder_is_due((enum ladder_rung)rung, (uint64_t)i * 2654435761u, read_at[i], now)) {
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

static void new_posts_and_missed_hours_are_due(void **state)
{
    (void)state;
    const int64_t now = at("2026-07-15T20:00:00Z");
    int due = 0;
    for (uint64_t key = 0; key < 24; key++) {
        assert_true(ladder_is_due(RUNG_MONTH, key, TIME_NONE, now));
        assert_true(ladder_is_due(RUNG_MONTH, key, now - 25 * HOUR_MS, now));
        assert_true(ladder_is_due(RUNG_DAY, key, now - HOUR_MS, now));
        due += ladder_is_due(RUNG_MONTH, key, now - 23 * HOUR_MS, now);
    }
    assert_int_equal(due, 1);
}

static void who_is_missing_for_a_day_is_asked_for_daily(void **state)
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
    assert_true(missing_is_due(9, now - 3 * DAY_MS, now + HOUR_MS, now)); /* a clock was set back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(midnight_in_winter_and_in_summer),
        cmocka_unit_test(the_days_on_which_clocks_are_set),
        cmocka_unit_test(every_day_has_one_midnight),
        cmocka_unit_test(the_reserve_is_for_the_end_of_the_day),
        cmocka_unit_test(a_run_gets_its_share_of_the_rest_of_the_day),
        cmocka_unit_test(an_earlier_run_counts_on_the_same_day_only),
        cmocka_unit_test(rungs_go_by_age),
        cmocka_unit_test(each_post_in_its_hour_and_the_hours_alike),
        cmocka_unit_test(new_posts_and_missed_hours_are_due),
        cmocka_unit_test(who_is_missing_for_a_day_is_asked_for_daily),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* How fast the platforms are asked: buckets, spreading, repeats, breaker. */
#include "fetch/breaker.h"
#include "fetch/pace.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define T0 INT64_C(1000000)

/* How many calls begin from `from` on within `ms`, when one begins as soon as it may. */
static int begun_within(struct bucket *b, bool half, int64_t from, int64_t ms)
{
    int n = 0;
    for (int64_t t = from; t < from + ms; t++)
        for (; bucket_ready_at(b, half, t) <= t; n++)
            bucket_take(b, half, t);
    return n;
}

static void a_bucket_gives_its_burst_and_then_its_rate(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 600, 20, T0);
    assert_int_equal(begun_within(&b, false, T0, 1), 20);
    assert_int_equal(bucket_ready_at(&b, false, T0), T0 + 100);
    assert_int_equal(begun_within(&b, false, T0 + 1, 60000), 600);
    assert_int_equal(begun_within(&b, true, T0 + 60001, 60000), 300);
    /* Idle for a year: the burst, no more. */
    assert_int_equal(begun_within(&b, false, T0 + 365 * DAY_MS, 1), 20);
    bucket_init(&b, 7, 1, T0);
    assert_int_equal(begun_within(&b, false, T0, 10 * MINUTE_MS), 70);
    bucket_init(&b, 0, 0, T0);
    assert_int_equal(bucket_ready_at(&b, true, T0), T0);
}

static void a_clock_that_falls_takes_nothing_away(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 60, 2, T0);
    bucket_take(&b, false, T0);
    assert_int_equal(bucket_ready_at(&b, false, T0 - 5000), T0 - 5000);
    bucket_take(&b, false, T0 - 5000);
    assert_int_equal(bucket_ready_at(&b, false, T0), T0 + 1000);
}

static void calls_are_spread_evenly(void **state)
{
    (void)state;
    struct spread s;
    spread_init(&s, T0, 40000, 400);
    for (int i = 0; i < 400; i++) {
        const int64_t at = spread_ready_at(&s, false);
        assert_in_range(at, T0 + i * 99, T0 + i * 101);
        spread_begin(&s, false, at);
    }
    /* Above the plan: at once. */
    assert_true(spread_ready_at(&s, false) <= T0 + 40000);
    spread_init(&s, T0, 0, 400);
    spread_begin(&s, false, T0);
    assert_int_equal(spread_ready_at(&s, false), T0);
}

static void who_was_late_makes_up_for_a_second(void **state)
{
    (void)state;
    struct spread s;
    spread_init(&s, T0, 100000, 100);
    spread_begin(&s, false, T0);
    /* Kept from beginning for half of the time. */
    int burst = 0;
    for (; spread_ready_at(&s, false) <= T0 + 50000; burst++)
        spread_begin(&s, false, T0 + 50000);
    assert_in_range(burst, 2, 4);
    /* The rest is spread over the rest. */
    assert_in_range(spread_ready_at(&s, false) - s.last, 480, 530);
    assert_in_range(spread_ready_at(&s, true) - s.last, 960, 1060);
}

static void repeats_wait_up_to_the_doubled_time(void **state)
{
    (void)state;
    assert_int_equal(retry_delay_ms(0, 1000), 1000);
    assert_int_equal(retry_delay_ms(0, 1001), 0);
    assert_int_equal(retry_delay_ms(1, 2000), 2000);
    assert_int_equal(retry_delay_ms(2, 4001), 0);
    for (uint64_t random = 0; random < 200000; random += 777)
        assert_in_range(retry_delay_ms(50, random), 0, RETRY_CAP_MS);
    assert_int_equal(retry_budget(1000, 10), 100);
    assert_int_equal(retry_budget(3, 10), RETRY_LEAST);
    assert_int_equal(retry_budget(1000, 0), 0);
}

static void calls_at_once_and_pauses(void **state)
{
    (void)state;
    struct pace p = {.in_flight_max = 3};
    bucket_init(&p.bucket, 0, 0, T0);
    spread_init(&p.spread, T0, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_true(pace_ready_at(&p, T0) <= T0);
        pace_begin(&p, T0);
    }
    assert_true(pace_ready_at(&p, T0) == PACE_NEVER);
    pace_end(&p);
    assert_true(pace_ready_at(&p, T0) <= T0);
    p.half = true; /* two of three */
    assert_true(pace_ready_at(&p, T0) == PACE_NEVER);
    pace_end(&p);
    pace_pause(&p, T0 + 500);
    pace_pause(&p, T0 + 200);
    assert_int_equal(pace_ready_at(&p, T0), T0 + 500);
    assert_true(pace_ready_at(&p, T0 + 500) <= T0 + 500);
}

/* --- the breaker --- */

static bool end(struct breaker *b, bool good, int64_t now)
{
    breaker_begin(b);
    return breaker_end(b, good, now);
}

static void twenty_failures_in_a_row_open_it(void **state)
{
    (void)state;
    struct breaker b = {0};
    for (int i = 0; i < 19; i++)
        assert_false(end(&b, false, T0));
    assert_false(end(&b, true, T0));
    for (int i = 0; i < 19; i++)
        assert_false(end(&b, false, T0));
    assert_int_equal(breaker_ready_at(&b, T0), T0);
    assert_true(end(&b, false, T0));
    assert_int_equal(breaker_ready_at(&b, T0), T0 + 5 * MINUTE_MS);
}

static void more_than_half_of_fifty_open_it(void **state)
{
    (void)state;
    struct breaker b = {0};
    for (int i = 0; i < 200; i++) /* half: not more */
        assert_false(end(&b, i % 2 == 0, T0));
    assert_true(end(&b, false, T0)); /* the last one was bad too: 26 of 50 */
    b = (struct breaker){0};
    for (int i = 0; i < 49; i++) /* nearly all, but not of fifty yet */
        assert_false(end(&b, i % 10 == 9, T0));
    assert_true(end(&b, true, T0));
}

static void it_stays_open_for_longer_each_time_and_one_success_closes_it(void **state)
{
    (void)state;
    static const int minutes[] = {5, 10, 20, 40, 60, 60, 60};
    struct breaker b = {0};
    int64_t now = T0;
    for (int i = 0; i < 20; i++)
        (void)end(&b, false, now);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(b.until - now, minutes[i] * MINUTE_MS);
        now = b.until;
        assert_true(breaker_ready_at(&b, now) <= now);
        breaker_begin(&b);
        assert_true(breaker_ready_at(&b, now) == INT64_MAX); /* one probe */
        assert_true(breaker_end(&b, false, now));
    }
    now = b.until;
    breaker_begin(&b);
    assert_true(breaker_end(&b, true, now));
    assert_int_equal(breaker_ready_at(&b, now), now);
    assert_int_equal(b.level, 0);
}

static void a_late_answer_changes_nothing_while_it_is_open(void **state)
{
    (void)state;
    struct breaker b = {0};
    for (int i = 0; i < 20; i++)
        (void)end(&b, false, T0);
    assert_false(breaker_end(&b, true, T0 + 1));
    assert_int_equal(b.until, T0 + 5 * MINUTE_MS);
    breaker_begin(&b);
    breaker_forget(&b); /* the probe was cancelled */
    assert_int_equal(breaker_ready_at(&b, T0 + 2), T0 + 5 * MINUTE_MS);
}

static void it_outlives_a_run_but_no_clock_that_was_wrong(void **state)
{
    (void)state;
    struct breaker b;
    breaker_restore(&b, 2, T0 + 3 * MINUTE_MS, T0);
    assert_int_equal(breaker_ready_at(&b, T0), T0 + 3 * MINUTE_MS);
    breaker_begin(&b);
    assert_true(breaker_end(&b, false, T0));
    assert_int_equal(b.until, T0 + 20 * MINUTE_MS);
    breaker_restore(&b, 1, T0 + 365 * DAY_MS, T0);
    assert_int_equal(breaker_ready_at(&b, T0), T0 + 5 * MINUTE_MS);
    breaker_restore(&b, 0, T0 + MINUTE_MS, T0);
    assert_int_equal(breaker_ready_at(&b, T0), T0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_gives_its_burst_and_then_its_rate),
        cmocka_unit_test(a_clock_that_falls_takes_nothing_away),
        cmocka_unit_test(calls_are_spread_evenly),
        cmocka_unit_test(who_was_late_makes_up_for_a_second),
        cmocka_unit_test(repeats_wait_up_to_the_doubled_time),
        cmocka_unit_test(calls_at_once_and_pauses),
        cmocka_unit_test(twenty_failures_in_a_row_open_it),
        cmocka_unit_test(more_than_half_of_fifty_open_it),
        cmocka_unit_test(it_stays_open_for_longer_each_time_and_one_success_closes_it),
        cmocka_unit_test(a_late_answer_changes_nothing_while_it_is_open),
        cmocka_unit_test(it_outlives_a_run_but_no_clock_that_was_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

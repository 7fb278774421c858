/* Tests the pace of platform calls: token buckets, spreading calls over a run, retries, circuit breaker. */
#include "fetch/breaker.h"
#include "fetch/pace.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define T0 INT64_C(1000000)

/* Counts the calls in [from, from + ms) if each begins as early as possible. */
static int count_calls(struct bucket *b, bool half_rate, int64_t from, int64_t ms)
{
    int n = 0;
    for (int64_t t = from; t < from + ms; t++)
        for (; bucket_ready_at(b, half_rate, t) <= t; n++)
            bucket_use(b, half_rate, t);
    return n;
}

static void bucket_allows_a_burst_and_then_limits_the_rate(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 600, 20, T0);
    assert_int_equal(count_calls(&b, false, T0, 1), 20);
    assert_int_equal(bucket_ready_at(&b, false, T0), T0 + 100);
    assert_int_equal(count_calls(&b, false, T0 + 1, 60000), 600);
    assert_int_equal(count_calls(&b, true, T0 + 60001, 60000), 300);
    /* After a year without calls, no more calls than the burst are allowed. */
    assert_int_equal(count_calls(&b, false, T0 + 365 * DAY_MS, 1), 20);
    bucket_init(&b, 7, 1, T0);
    assert_int_equal(count_calls(&b, false, T0, 10 * MINUTE_MS), 70);
    bucket_init(&b, 0, 0, T0);
    assert_int_equal(bucket_ready_at(&b, true, T0), T0);
}

static void bucket_refills_at_half_a_call_per_minute(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 1, 10, T0);
    assert_int_equal(count_calls(&b, true, T0, 1), 10);
    assert_int_equal(count_calls(&b, true, T0 + 11 * MINUTE_MS, 1), 5);
    assert_int_equal(count_calls(&b, true, T0 + 31 * MINUTE_MS, 1), 10);
}

static void bucket_tolerates_clock_going_back(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 60, 2, T0);
    bucket_use(&b, false, T0);
    assert_int_equal(bucket_ready_at(&b, false, T0 - 5000), T0 - 5000);
    bucket_use(&b, false, T0 - 5000);
    assert_int_equal(bucket_ready_at(&b, false, T0), T0 + 1000);
}

static void spread_distributes_calls_evenly(void **state)
{
    (void)state;
    struct spread s;
    spread_init(&s, T0, 40000, 400);
    for (int i = 0; i < 400; i++) {
        const int64_t at = spread_ready_at(&s, false);
        assert_in_range(at, T0 + i * 99, T0 + i * 101);
        spread_begin(&s, false, at);
    }
    /* Calls above the planned number are due at once. */
    assert_true(spread_ready_at(&s, false) <= T0 + 40000);
    spread_init(&s, T0, 0, 400);
    spread_begin(&s, false, T0);
    assert_int_equal(spread_ready_at(&s, false), T0);
}

static void spread_makes_up_for_at_most_one_second_of_missed_calls(void **state)
{
    (void)state;
    struct spread s;
    spread_init(&s, T0, 100000, 100);
    spread_begin(&s, false, T0);
    /* After the first call, none could begin in the first half of the time. Of the missed calls, only as many
     * may begin at once as are planned for one second. */
    int burst = 0;
    for (; spread_ready_at(&s, false) <= T0 + 50000; burst++)
        spread_begin(&s, false, T0 + 50000);
    assert_in_range(burst, 2, 4);
    /* The remaining calls are spread over the remaining time. */
    assert_in_range(spread_ready_at(&s, false) - s.last, 480, 530);
    assert_in_range(spread_ready_at(&s, true) - s.last, 960, 1060);
}

static void limit_of_the_retry_delay_doubles_up_to_its_maximum(void **state)
{
    (void)state;
    assert_int_equal(retry_delay_ms(0, 1000), 1000);
    assert_int_equal(retry_delay_ms(0, 1001), 0);
    assert_int_equal(retry_delay_ms(1, 2000), 2000);
    assert_int_equal(retry_delay_ms(2, 4001), 0);
    for (uint64_t random = 0; random < 200000; random += 777)
        assert_in_range(retry_delay_ms(50, random), 0, RETRY_CAP_MS);
    assert_int_equal(retry_budget(1000, 10), 100);
    assert_int_equal(retry_budget(3, 10), RETRY_MIN);
    assert_int_equal(retry_budget(1000, 0), 0);
}

static void pace_limits_the_calls_in_flight_and_observes_pauses(void **state)
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
    p.half_rate = true; /* halves the limit of three calls in flight to two (rounded up) */
    assert_true(pace_ready_at(&p, T0) == PACE_NEVER);
    pace_end(&p);
    pace_pause(&p, T0 + 500);
    pace_pause(&p, T0 + 200);
    assert_int_equal(pace_ready_at(&p, T0), T0 + 500);
    assert_true(pace_ready_at(&p, T0 + 500) <= T0 + 500);
}

/* --- circuit breaker --- */

/* Addresses that identify calls. */
static const char first_call, other_call;

static bool call(struct breaker *b, bool good, int64_t now)
{
    breaker_begin(b, &first_call, now);
    return breaker_end(b, &first_call, good, now);
}

static void breaker_opens_after_20_failures_in_a_row(void **state)
{
    (void)state;
    struct breaker b = {0};
    for (int i = 0; i < 19; i++)
        assert_false(call(&b, false, T0));
    assert_false(call(&b, true, T0));
    for (int i = 0; i < 19; i++)
        assert_false(call(&b, false, T0));
    assert_int_equal(breaker_ready_at(&b, T0), T0);
    assert_true(call(&b, false, T0));
    assert_int_equal(breaker_ready_at(&b, T0), T0 + 5 * MINUTE_MS);
}

static void breaker_opens_if_more_than_half_of_50_fail(void **state)
{
    (void)state;
    struct breaker b = {0};
    for (int i = 0; i < 200; i++) /* exactly half of the calls fail */
        assert_false(call(&b, i % 2 == 0, T0));
    assert_true(call(&b, false, T0)); /* the previous call failed too, so 26 of 50 calls have failed */
    b = (struct breaker){0};
    for (int i = 0; i < 49; i++) /* most calls failed, but there were fewer than 50 */
        assert_false(call(&b, i % 10 == 9, T0));
    assert_true(call(&b, true, T0));
}

static void breaker_backs_off_and_closes_on_success(void **state)
{
    (void)state;
    static const int minutes[] = {5, 10, 20, 40, 60, 60, 60};
    struct breaker b = {0};
    int64_t now = T0;
    for (int i = 0; i < 20; i++)
        (void)call(&b, false, now);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(b.until - now, minutes[i] * MINUTE_MS);
        now = b.until;
        assert_true(breaker_ready_at(&b, now) <= now);
        breaker_begin(&b, &first_call, now);
        assert_true(breaker_ready_at(&b, now) == INT64_MAX); /* only one trial call */
        assert_true(breaker_end(&b, &first_call, false, now));
    }
    now = b.until;
    assert_true(call(&b, true, now));
    assert_int_equal(breaker_ready_at(&b, now), now);
    assert_int_equal(b.level, 0);
}

static void breaker_ignores_late_responses_while_open(void **state)
{
    (void)state;
    struct breaker b = {0};
    for (int i = 0; i < 20; i++)
        (void)call(&b, false, T0);
    assert_false(breaker_end(&b, &other_call, true, T0 + 1));
    assert_false(call(&b, true, T0 + 1)); /* begins too early to be the trial call */
    assert_int_equal(b.until, T0 + 5 * MINUTE_MS);
    breaker_begin(&b, &first_call, b.until);
    breaker_cancel(&b, &first_call);
    assert_int_equal(breaker_ready_at(&b, T0 + 2), T0 + 5 * MINUTE_MS);
}

static void only_the_trial_call_closes_or_reopens_the_circuit(void **state)
{
    (void)state;
    struct breaker b = {0};
    for (int i = 0; i < 20; i++)
        (void)call(&b, false, T0);
    const int64_t now = b.until;
    breaker_begin(&b, &first_call, now);
    breaker_begin(&b, &other_call, now);
    assert_false(breaker_end(&b, &other_call, true, now));
    assert_false(breaker_end(&b, &other_call, false, now));
    breaker_cancel(&b, &other_call);
    assert_true(breaker_ready_at(&b, now) == INT64_MAX);
    assert_true(breaker_end(&b, &first_call, true, now));
    assert_int_equal(breaker_ready_at(&b, now), now);
}

static void breaker_restores_its_state_and_tolerates_a_wrong_clock(void **state)
{
    (void)state;
    struct breaker b;
    breaker_restore(&b, 2, T0 + 3 * MINUTE_MS, T0);
    assert_int_equal(breaker_ready_at(&b, T0), T0 + 3 * MINUTE_MS);
    assert_true(call(&b, false, b.until));
    assert_int_equal(b.until, T0 + (3 + 20) * MINUTE_MS);
    breaker_restore(&b, 1, T0 + 365 * DAY_MS, T0);
    assert_int_equal(breaker_ready_at(&b, T0), T0 + 5 * MINUTE_MS);
    breaker_restore(&b, 0, T0 + MINUTE_MS, T0);
    assert_int_equal(breaker_ready_at(&b, T0), T0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket_allows_a_burst_and_then_limits_the_rate),
        cmocka_unit_test(bucket_refills_at_half_a_call_per_minute),
        cmocka_unit_test(bucket_tolerates_clock_going_back),
        cmocka_unit_test(spread_distributes_calls_evenly),
        cmocka_unit_test(spread_makes_up_for_at_most_one_second_of_missed_calls),
        cmocka_unit_test(limit_of_the_retry_delay_doubles_up_to_its_maximum),
        cmocka_unit_test(pace_limits_the_calls_in_flight_and_observes_pauses),
        cmocka_unit_test(breaker_opens_after_20_failures_in_a_row),
        cmocka_unit_test(breaker_opens_if_more_than_half_of_50_fail),
        cmocka_unit_test(breaker_backs_off_and_closes_on_success),
        cmocka_unit_test(breaker_ignores_late_responses_while_open),
        cmocka_unit_test(only_the_trial_call_closes_or_reopens_the_circuit),
        cmocka_unit_test(breaker_restores_its_state_and_tolerates_a_wrong_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

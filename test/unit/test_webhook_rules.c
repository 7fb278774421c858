/* Tests the rules of delivery: how a result changes an endpoint, the pauses, and Retry-After. */
#include "unit.h"

#include "base/clock.h"
#include "net/retry_after.h"
#include "webhook/webhook_rules.h"

enum { NOW = 1000000 };

static struct webhook_endpoint endpoint(int64_t failures)
{
    return (struct webhook_endpoint){.position = 5, .failures = failures, .next_attempt_at = TIME_NONE};
}

static struct delivery_result failure(int status, int64_t retry_after_ms)
{
    struct delivery_result r = {
        .position = 5, .event_id = 6, .status = status, .retry_after_ms = retry_after_ms};
    webhook_judge_status(&r);
    return r;
}

/* Returns the pause after the failure number `failures`. */
static int64_t pause_after(int64_t failures, int64_t retry_after_ms, uint32_t random)
{
    struct webhook_endpoint e = endpoint(failures - 1);
    const struct delivery_result r = failure(503, retry_after_ms);
    webhook_apply(&e, &r, NOW, random);
    assert_int_equal(e.state, WEBHOOK_ACTIVE);
    assert_int_equal(e.failures, failures);
    assert_int_equal(e.position, 5);
    return e.next_attempt_at - NOW;
}

static void retry_after_extends_a_pause_but_never_shortens_it(void **state)
{
    (void)state;
    assert_int_equal(pause_after(1, 60 * SECOND_MS, 0), 60 * SECOND_MS);
    assert_in_range(pause_after(1, 60 * SECOND_MS, 123456789), 60 * SECOND_MS, 66 * SECOND_MS);
    assert_int_equal(pause_after(5, 60 * SECOND_MS, 0), webhook_pause_ms(5, 0));
    assert_int_equal(pause_after(1, 1, 0), webhook_pause_ms(1, 0));
    assert_int_equal(pause_after(1, 0, 7), webhook_pause_ms(1, 7));
}

static void retry_after_is_bounded_by_the_longest_pause(void **state)
{
    (void)state;
    const int64_t longest = 20 * (int64_t)HOUR_MS, plan = 3 * (int64_t)DAY_MS;
    assert_int_equal(pause_after(1, longest, 0), longest);
    assert_int_equal(pause_after(1, longest + 1, 0), longest);
    assert_int_equal(pause_after(1, plan, 0), longest);
    assert_int_equal(pause_after(1, plan + 1, 0), webhook_pause_ms(1, 0));
    assert_int_equal(pause_after(1, INT64_MAX, 0), webhook_pause_ms(1, 0));
    assert_int_equal(pause_after(1, -1, 0), webhook_pause_ms(1, 0));
    for (int64_t failures = 1; failures < WEBHOOK_TRIES;
         failures++) /* the store treats an attempt more than two days ahead as due */
        assert_true(pause_after(failures, plan, UINT32_MAX) <= longest + longest / 10);
}

static void failed_last_attempt_fails_the_endpoint_even_with_retry_after(void **state)
{
    (void)state;
    struct webhook_endpoint e = endpoint(WEBHOOK_TRIES - 1);
    const struct delivery_result r = failure(429, HOUR_MS);
    webhook_apply(&e, &r, NOW, 0);
    assert_int_equal(e.state, WEBHOOK_FAILED);
    assert_int_equal(e.next_attempt_at, TIME_NONE);
}

static void manual_delivery_does_not_move_the_next_attempt(void **state)
{
    (void)state;
    struct webhook_endpoint e = endpoint(0);
    struct delivery_result r = failure(503, HOUR_MS);
    r.kind = DELIVERY_MANUAL;
    webhook_apply(&e, &r, NOW, 0);
    assert_int_equal(e.next_attempt_at, TIME_NONE);
    assert_int_equal(e.failures, 0);
}

static void result_of_an_event_before_the_position_changes_nothing(void **state)
{
    (void)state;
    struct webhook_endpoint e = endpoint(0);
    struct delivery_result r = failure(200, 0);
    r.position = 4;
    webhook_apply(&e, &r, NOW, 0);
    assert_int_equal(e.position, 5);
}

static int64_t parse(const char *first, const char *second)
{
    const struct http_header headers[] = {{STR("Retry-After"), str_from_cstr(first)},
                                          {STR("retry-after"), str_from_cstr(second)}};
    const struct http_response response = {.headers = headers, .header_count = second ? 2 : 1};
    return http_retry_after_ms(&response, INT64_C(784111770000));
}

static void repeated_or_invalid_retry_after_is_ignored(void **state)
{
    (void)state;
    static const char *const invalid[] = {"",
                                          "-5",
                                          "+5",
                                          "5s",
                                          "1e3",
                                          "0x10",
                                          "5, 10",
                                          "\xff",
                                          "4294967296",
                                          "18446744073709551617",
                                          "Sun, 06 Nov 1994 08:49:37"};
    assert_int_equal(parse("60", NULL), 60 * SECOND_MS);
    assert_int_equal(parse("Sun, 06 Nov 1994 08:49:37 GMT", NULL), 7 * SECOND_MS);
    assert_int_equal(parse("4294967295", NULL), INT64_C(4294967295) * SECOND_MS);
    assert_int_equal(parse("60", "60"), 0);
    assert_int_equal(parse("60", "90"), 0);
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        if (parse(invalid[i], NULL))
            fail_msg("%s", invalid[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_after_extends_a_pause_but_never_shortens_it),
        cmocka_unit_test(retry_after_is_bounded_by_the_longest_pause),
        cmocka_unit_test(failed_last_attempt_fails_the_endpoint_even_with_retry_after),
        cmocka_unit_test(manual_delivery_does_not_move_the_next_attempt),
        cmocka_unit_test(result_of_an_event_before_the_position_changes_nothing),
        cmocka_unit_test(repeated_or_invalid_retry_after_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

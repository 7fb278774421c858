/* Tests the failure limiter, the networks of addresses, and the four limits of sign-ins. Each call is passed
 * the current time, so no test waits. */
#include "unit.h"

#include "auth/failure_limiter.h"
#include "auth/network.h"
#include "auth/sign_in_limiter.h"
#include "base/clock.h"

#include <stdio.h>

/* ---- one limiter ---- */

static void allows_a_burst_then_one_attempt_per_expired_failure(void **state)
{
    struct failure_limiter *l = failure_limiter_new(&(struct failure_rule){.burst = 3, .decay_ms = 1000});
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 0), 0);
        failure_limiter_record(l, STR("x"), 0);
    }
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 0), 1000);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 999), 1);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 1000), 0);
    assert_int_equal(failure_limiter_wait_ms(l, STR("y"), 0), 0);
    failure_limiter_record(l, STR("x"), 1000);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 1000), 1000);
    for (int i = 0; i < 100; i++) /* the wait does not grow */
        failure_limiter_record(l, STR("x"), 1000);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 1000), 1000);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 4000), 0);
    failure_limiter_clear(l, STR("x"));
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 1000), 0);
    failure_limiter_free(l);
}

static void wait_doubles_up_to_its_maximum(void **state)
{
    static const int64_t waits_ms[] = {0, 0, 2, 4, 8, 10, 10, 10};
    struct failure_limiter *l = failure_limiter_new(
        &(struct failure_rule){.burst = 3, .decay_ms = 1000000, .wait_ms = 2, .wait_max_ms = 10});
    (void)state;
    for (size_t i = 0; i < sizeof waits_ms / sizeof *waits_ms; i++) {
        failure_limiter_record(l, STR("x"), 0);
        assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 0), waits_ms[i]);
    }
    for (int i = 0; i < 1000; i++)
        failure_limiter_record(l, STR("x"), 0);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 0), 10);
    failure_limiter_free(l);
}

static void undo_removes_a_failure_and_its_wait(void **state)
{
    struct failure_limiter *l = failure_limiter_new(
        &(struct failure_rule){.burst = 2, .decay_ms = 1000, .wait_ms = 100, .wait_max_ms = 100});
    (void)state;
    failure_limiter_undo(l, STR("x"), 0); /* unknown name: no effect */
    failure_limiter_record(l, STR("x"), 0);
    failure_limiter_record(l, STR("x"), 0);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 0), 100);
    failure_limiter_undo(l, STR("x"), 0);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 0), 0);
    failure_limiter_record(l, STR("x"), 0);
    assert_int_equal(failure_limiter_wait_ms(l, STR("x"), 0), 100);
    failure_limiter_free(l);
}

static void many_new_names_do_not_evict_a_name_that_must_wait(void **state)
{
    struct failure_limiter *l = failure_limiter_new(&(struct failure_rule){.burst = 20, .decay_ms = 6000});
    char name[16];
    (void)state;
    failure_limiter_record(l, STR("waits"), 0);
    for (int round = 0; round < 20; round++) {
        failure_limiter_record(l, STR("waits"), 0);
        for (int i = 0; i < 10000; i++) {
            const int len = snprintf(name, sizeof name, "%d", round * 10000 + i);
            failure_limiter_record(l, str_make(name, (size_t)len), 0);
        }
    }
    assert_true(failure_limiter_wait_ms(l, STR("waits"), 0) > 0);
    failure_limiter_free(l);
}

/* ---- networks ---- */

static void expect_networks(const char *a, const char *b, bool equal)
{
    char room_a[NETWORK_ROOM], room_b[NETWORK_ROOM];
    const struct str first = network_of_address(str_from_cstr(a), room_a);
    if (str_eq(first, network_of_address(str_from_cstr(b), room_b)) != equal)
        fail_msg("%s and %s: the networks should %s", a, b, equal ? "be equal" : "differ");
}

static void addresses_map_to_networks(void **state)
{
    (void)state;
    expect_networks("192.0.2.1", "192.0.2.1", true);
    expect_networks("192.0.2.1", "192.0.2.2", false);
    expect_networks("::ffff:192.0.2.1", "192.0.2.1", true);
    expect_networks("::ffff:c000:201", "192.0.2.1", true);
    expect_networks("::FFFF:192.0.2.1", "::ffff:192.0.2.2", false);
    expect_networks("64:ff9b::192.0.2.1", "192.0.2.1", true);
    expect_networks("64:ff9b::192.0.2.1", "64:ff9b::192.0.2.2", false);
    expect_networks("64:ff9b:1::192.0.2.1", "64:ff9b:1::192.0.2.2", true); /* not the NAT64 prefix */
    expect_networks("::192.0.2.1", "192.0.2.1", false);
    expect_networks("2001:db8::1", "2001:db8:0:0:ffff::", true);
    expect_networks("2001:db8::1", "2001:db8:0:1::1", false);
    expect_networks("fe80::1%eth0", "fe80::2%eth1", true);
    expect_networks("unix", "unix", true);
    expect_networks("unix", "192.0.2.1", false);
    expect_networks("", "unix", false);
    expect_networks("::ffff:192.0.2.1 with text that makes it longer than any address can be", "192.0.2.1",
                    false);
}

/* ---- sign-ins ---- */

#define OWNER    STR("192.0.2.1")
#define ATTACKER STR("198.51.100.1")

static int64_t attempt(struct sign_in_limiter *l, struct str account, struct str address, int64_t now_ms)
{
    const struct sign_in_attempt t = {.account = account, .address = address};
    return sign_in_limiter_begin(l, &t, now_ms);
}

static void account_has_five_attempts_per_network_then_waits_of_2_to_60_s(void **state)
{
    static const int64_t waits_s[] = {2, 4, 8, 16, 32, 60, 60};
    struct sign_in_limiter *l = sign_in_limiter_new();
    int64_t now = 1000;
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(attempt(l, STR("ann"), OWNER, now), 0);
    for (size_t i = 0; i < sizeof waits_s / sizeof *waits_s; i++) {
        assert_int_equal(attempt(l, STR("ann"), OWNER, now), waits_s[i] * SECOND_MS);
        assert_int_equal(attempt(l, STR("ann"), OWNER, now + waits_s[i] * SECOND_MS - 1), 1);
        now += waits_s[i] * SECOND_MS;
        assert_int_equal(attempt(l, STR("ann"), OWNER, now), 0);
    }
    assert_int_equal(attempt(l, STR("bob"), OWNER, now), 0);
    assert_int_equal(attempt(l, STR("ann"), STR("192.0.2.2"), now), 0);
    sign_in_limiter_free(l);
}

static void attacks_from_another_network_do_not_lock_the_owner_out(void **state)
{
    struct sign_in_limiter *l = sign_in_limiter_new();
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(attempt(l, STR("ann"), ATTACKER, 1000), 0);
    assert_true(attempt(l, STR("ann"), ATTACKER, 1000) > 0);
    assert_int_equal(attempt(l, STR("ann"), OWNER, 1000), 0);
    sign_in_limiter_free(l);
}

/* Tries to sign in to the account `count` times, each time from a different network. Returns the number of
 * attempts that were allowed. */
static int attempt_from_many_networks(struct sign_in_limiter *l, int count, int64_t now_ms)
{
    char address[40];
    int done = 0;
    for (int i = 0; i < count; i++) {
        (void)snprintf(address, sizeof address, "203.0.%d.%d", i / 250, i % 250);
        done += attempt(l, STR("ann"), str_from_cstr(address), now_ms) == 0;
    }
    return done;
}

static void account_has_a_hundred_attempts_an_hour_over_all_networks(void **state)
{
    struct sign_in_limiter *l = sign_in_limiter_new();
    (void)state;
    assert_int_equal(attempt_from_many_networks(l, 300, 1000), 100);
    assert_int_equal(attempt(l, STR("ann"), OWNER, 1000), 36 * SECOND_MS);
    assert_int_equal(attempt(l, STR("bob"), OWNER, 1000), 0);
    assert_int_equal(attempt(l, STR("ann"), OWNER, 1000 + 36 * SECOND_MS), 0);
    sign_in_limiter_free(l);
}

static void known_device_is_exempt_from_account_limits_and_has_ten_attempts(void **state)
{
    struct sign_in_limiter *l = sign_in_limiter_new();
    const struct sign_in_attempt t = {.account = STR("ann"), .address = OWNER, .device = STR("device 1")};
    struct sign_in_attempt other = t;
    (void)state;
    other.device = STR("device 2");
    assert_int_equal(attempt_from_many_networks(l, 300, 1000), 100);
    for (int i = 0; i < 10; i++)
        assert_int_equal(sign_in_limiter_begin(l, &t, 1000), 0);
    assert_int_equal(sign_in_limiter_begin(l, &t, 1000), MINUTE_MS);
    assert_int_equal(sign_in_limiter_begin(l, &other, 1000), 0);
    assert_int_equal(sign_in_limiter_begin(l, &t, 1000 + MINUTE_MS), 0);
    assert_int_equal(sign_in_limiter_begin(l, &t, 1000 + MINUTE_MS), MINUTE_MS);
    sign_in_limiter_record_success(l, &t, 1000 + MINUTE_MS);
    assert_int_equal(sign_in_limiter_begin(l, &t, 1000 + MINUTE_MS), 0);
    sign_in_limiter_free(l);
}

static void success_does_not_clear_the_failures_of_the_account_in_other_networks(void **state)
{
    struct sign_in_limiter *l = sign_in_limiter_new();
    const struct sign_in_attempt t = {.account = STR("ann"), .address = OWNER};
    (void)state;
    assert_int_equal(attempt_from_many_networks(l, 99, 1000), 99);
    for (int i = 0; i < 3; i++) { /* a success removes only its own attempt */
        assert_int_equal(sign_in_limiter_begin(l, &t, 1000), 0);
        sign_in_limiter_record_success(l, &t, 1000);
    }
    assert_int_equal(sign_in_limiter_begin(l, &t, 1000), 0);
    assert_true(sign_in_limiter_begin(l, &t, 1000) > 0); /* the hundredth failure of the account */
    sign_in_limiter_free(l);
}

static void network_has_thirty_attempts_over_all_accounts(void **state)
{
    struct sign_in_limiter *l = sign_in_limiter_new();
    char account[32];
    int allowed = 0;
    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(account, sizeof account, "author %d", i);
        allowed += attempt(l, str_from_cstr(account), ATTACKER, 1000) == 0;
    }
    assert_int_equal(allowed, 30);
    sign_in_limiter_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allows_a_burst_then_one_attempt_per_expired_failure),
        cmocka_unit_test(wait_doubles_up_to_its_maximum),
        cmocka_unit_test(undo_removes_a_failure_and_its_wait),
        cmocka_unit_test(many_new_names_do_not_evict_a_name_that_must_wait),
        cmocka_unit_test(addresses_map_to_networks),
        cmocka_unit_test(account_has_five_attempts_per_network_then_waits_of_2_to_60_s),
        cmocka_unit_test(attacks_from_another_network_do_not_lock_the_owner_out),
        cmocka_unit_test(account_has_a_hundred_attempts_an_hour_over_all_networks),
        cmocka_unit_test(known_device_is_exempt_from_account_limits_and_has_ten_attempts),
        cmocka_unit_test(success_does_not_clear_the_failures_of_the_account_in_other_networks),
        cmocka_unit_test(network_has_thirty_attempts_over_all_accounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

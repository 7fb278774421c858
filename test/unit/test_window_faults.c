/* Tests windows while allocations fail: requests are admitted, records and rejections may be lost, and the
 * limit applies again as soon as there is memory. */
#include "unit.h"

#include "base/fault.h"
#include "limit/window.h"

enum { LIMIT = 5, KEYS = 40, TRIES = 8, FAULTS_MAX = 400, LATER_MS = 120 * 1000 };

static void expect_limit_holds(struct windows *l, int64_t key, int64_t now_ms)
{
    for (int i = 0; i < LIMIT; i++)
        assert_true(windows_acquire(l, key, now_ms).admitted);
    struct limit_verdict v = windows_acquire(l, key, now_ms);
    assert_false(v.admitted);
    assert_int_equal(v.remaining, 0);
    assert_int_equal(v.reset_ms, 60000);
}

/* Removes idle windows, including windows without a recorded request, and asserts that only the window of
 * `key` is left. */
static void expect_idle_windows_are_removed(struct windows *l, int64_t key)
{
    for (int i = 0; i < 2 * KEYS; i++)
        (void)windows_acquire(l, key, LATER_MS);
    assert_int_equal(windows_key_count(l), 1);
}

/* Returns how many requests were admitted. */
static unsigned acquire_for_every_key(struct windows *l)
{
    unsigned admitted = 0;
    for (int i = 0; i < TRIES; i++)
        for (int64_t key = 1; key <= KEYS; key++) {
            struct limit_verdict v = windows_acquire(l, key, 1000);
            assert_int_equal(v.limit, LIMIT);
            assert_in_range(v.remaining, 0, LIMIT);
            assert_in_range(v.reset_ms, 0, 60000);
            assert_true(v.admitted || v.remaining == 0);
            admitted += v.admitted;
        }
    return admitted;
}

static void failed_allocation_admits_at_most_one_more_request(void **state)
{
    unsigned n = 0, failed;
    (void)state;
    do {
        struct windows *l = windows_new(LIMIT);
        fault_arm(++n, false);
        unsigned admitted = acquire_for_every_key(l);
        failed = fault_count();
        fault_arm(0, false);
        assert_in_range(admitted, LIMIT * KEYS, LIMIT * KEYS + failed);
        expect_limit_holds(l, KEYS + 1, 1000);
        expect_idle_windows_are_removed(l, KEYS + 2);
        windows_free(l);
    } while (failed && n < FAULTS_MAX);
    assert_in_range(n, KEYS * 2, FAULTS_MAX - 1);
}

static void requests_are_admitted_while_out_of_memory(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 3 * KEYS; n++) {
        struct windows *l = windows_new(LIMIT);
        fault_arm(n, true);
        assert_true(acquire_for_every_key(l) > LIMIT * KEYS);
        fault_arm(0, false);
        expect_limit_holds(l, KEYS + 1, 1000);
        expect_idle_windows_are_removed(l, KEYS + 2);
        windows_free(l);
    }
}

/* A request is recorded for key n, and a rejection is stored for key -n. */
static void records_and_rejections_may_be_lost_while_out_of_memory(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 3 * KEYS; n++) {
        struct windows *l = windows_new(LIMIT);
        fault_arm(n, true);
        for (int64_t key = 1; key <= KEYS; key++)
            windows_record(l, key, 1000);
        for (int64_t key = 1; key <= KEYS; key++)
            windows_store_rejection(l, -key, 5000, 5000);
        fault_arm(0, false);
        for (int64_t key = 1; key <= KEYS; key++) {
            int64_t until_ms = windows_find_rejection(l, -key, 1000);
            assert_true(until_ms == 0 || until_ms == 5000);
            assert_in_range(windows_acquire(l, key, 1000).remaining, LIMIT - 2, LIMIT - 1);
        }
        windows_store_rejection(l, -1, 6000, 6000);
        assert_int_equal(windows_find_rejection(l, -1, 1000), 6000);
        windows_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_allocation_admits_at_most_one_more_request),
        cmocka_unit_test(requests_are_admitted_while_out_of_memory),
        cmocka_unit_test(records_and_rejections_may_be_lost_while_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The limiter's windows without memory: requests are admitted, nothing is lost that was counted before, and
 * the limit holds again as soon as there is memory. */
#include "unit.h"

#include "base/fault.h"
#include "limit/window.h"

enum { LIMIT = 5, KEYS = 40, TRIES = 8, FAULTS_MAX = 400, LATER_MS = 120 * 1000 };

static void expect_the_limit_holds(struct windows *l, int64_t key, int64_t now_ms)
{
    for (int i = 0; i < LIMIT; i++)
        assert_true(windows_acquire(l, key, now_ms).admitted);
    struct limit_verdict v = windows_acquire(l, key, now_ms);
    assert_false(v.admitted);
    assert_int_equal(v.remaining, 0);
    assert_int_equal(v.reset_ms, 60000);
}

/* After the idle keys were forgotten, also those with nothing counted, only `key` is left. */
static void expect_idle_keys_are_forgotten(struct windows *l, int64_t key)
{
    for (int i = 0; i < 2 * KEYS; i++)
        (void)windows_acquire(l, key, LATER_MS);
    assert_int_equal(windows_key_count(l), 1);
}

/* How many requests of all keys are admitted. */
static unsigned take_from_every_key(struct windows *l)
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

static void a_failed_allocation_admits_at_most_one_request_more(void **state)
{
    unsigned n = 0, failed;
    (void)state;
    do {
        struct windows *l = windows_new(LIMIT);
        fault_arm(++n, false);
        unsigned admitted = take_from_every_key(l);
        failed = fault_count();
        fault_arm(0, false);
        assert_in_range(admitted, LIMIT * KEYS, LIMIT * KEYS + failed);
        expect_the_limit_holds(l, KEYS + 1, 1000);
        expect_idle_keys_are_forgotten(l, KEYS + 2);
        windows_free(l);
    } while (failed && n < FAULTS_MAX);
    assert_in_range(n, KEYS * 2, FAULTS_MAX - 1);
}

static void requests_are_admitted_while_there_is_no_memory(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 3 * KEYS; n++) {
        struct windows *l = windows_new(LIMIT);
        fault_arm(n, true);
        assert_true(take_from_every_key(l) > LIMIT * KEYS);
        fault_arm(0, false);
        expect_the_limit_holds(l, KEYS + 1, 1000);
        expect_idle_keys_are_forgotten(l, KEYS + 2);
        windows_free(l);
    }
}

/* Keys above 0 are recorded, their opposites refused. */
static void records_and_refusals_without_memory_are_dropped(void **state)
{
    int64_t keys[KEYS];
    (void)state;
    for (int i = 0; i < KEYS; i++)
        keys[i] = i + 1;
    for (unsigned n = 1; n < 3 * KEYS; n++) {
        struct windows *l = windows_new(LIMIT);
        fault_arm(n, true);
        windows_record(l, keys, KEYS, 1000);
        for (int i = 0; i < KEYS; i++)
            windows_store_rejection(l, -keys[i], 5000);
        fault_arm(0, false);
        for (int i = 0; i < KEYS; i++) {
            int64_t until_ms = windows_find_rejection(l, -keys[i], 1000);
            assert_true(until_ms == 0 || until_ms == 5000);
            assert_in_range(windows_acquire(l, keys[i], 1000).remaining, LIMIT - 2, LIMIT - 1);
        }
        windows_store_rejection(l, -1, 6000);
        assert_int_equal(windows_find_rejection(l, -1, 1000), 6000);
        windows_free(l);
    }
}

/* The table keeps its size; the keys in it are found all the same. */
static void a_table_that_cannot_grow_goes_on_counting(void **state)
{
    struct windows *l = windows_new(LIMIT);
    (void)state;
    for (int64_t key = 1; key <= 32; key++) /* half of the first table's buckets: the next new key grows it */
        (void)windows_acquire(l, key, 1000);
    fault_arm(1, false);
    assert_int_equal(windows_acquire(l, 33, 1000).remaining, LIMIT - 1);
    assert_int_equal(fault_count(), 1);
    fault_arm(0, false);
    for (int64_t key = 1; key <= 33; key++)
        assert_int_equal(windows_acquire(l, key, 1000).remaining, LIMIT - 2);
    windows_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_allocation_admits_at_most_one_request_more),
        cmocka_unit_test(requests_are_admitted_while_there_is_no_memory),
        cmocka_unit_test(records_and_refusals_without_memory_are_dropped),
        cmocka_unit_test(a_table_that_cannot_grow_goes_on_counting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

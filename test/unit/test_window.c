/* Compares the verdicts of the rate-limit windows in this process with a recount of all requests, and
 * tests that windows of idle keys are removed. */
#include "unit.h"

#include "base/clock.h"
#include "limit/window.h"

#include <stdlib.h>

static void burst_of_sixty_then_one_per_freed_slot(void **state)
{
    struct windows *l = windows_new(60);
    struct limit_verdict v;
    (void)state;
    for (int i = 0; i < 60; i++) {
        v = windows_acquire(l, 1, 1000 + i);
        assert_true(v.admitted);
        assert_int_equal(v.remaining, 59 - i);
    }
    v = windows_acquire(l, 1, 1060);
    assert_false(v.admitted);
    assert_int_equal(v.reset_ms, 1000 + 60000 - 1060);
    assert_false(windows_acquire(l, 1, 1000 + 59999).admitted);
    assert_true(windows_acquire(l, 1, 1000 + 60000).admitted);
    assert_false(
        windows_acquire(l, 1, 1000 + 60000).admitted); /* the second request leaves the window 1 ms later */
    assert_true(windows_acquire(l, 2, 1060).admitted); /* another key has another window */
    windows_free(l);
}

/* A client that keeps sending does not prolong its wait. */
static void rejected_requests_are_not_counted(void **state)
{
    struct windows *l = windows_new(2);
    (void)state;
    assert_true(windows_acquire(l, 5, 0).admitted);
    assert_true(windows_acquire(l, 5, 10).admitted);
    for (int t = 11; t < 60000; t += 7)
        assert_false(windows_acquire(l, 5, t).admitted);
    assert_true(windows_acquire(l, 5, 60000).admitted);
    windows_free(l);
}

enum { KEYS = 7, STEPS = 20000 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void verdicts_of_random_requests_equal_a_recount(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        int limit = (int)(seed % 9) + 1;
        struct windows *l = windows_new(limit);
        int64_t *admitted[KEYS], now = 0;
        int count[KEYS] = {0};
        for (int k = 0; k < KEYS; k++)
            admitted[k] = calloc(STEPS, sizeof **admitted);
        uint32_t random = seed;
        for (int i = 0; i < STEPS; i++) {
            now += next_random(&random) % 3000;
            int key = (int)(next_random(&random) % KEYS), inside = 0;
            for (int j = count[key]; j-- > 0 && admitted[key][j] > now - 60000;)
                inside++;
            struct limit_verdict v = windows_acquire(l, key, now);
            assert_int_equal(v.admitted, inside < limit);
            if (v.admitted)
                admitted[key][count[key]++] = now;
            assert_int_equal(v.remaining, limit - inside - v.admitted);
        }
        for (int k = 0; k < KEYS; k++)
            free(admitted[k]);
        windows_free(l);
    }
}

static void removes_windows_of_idle_keys(void **state)
{
    struct windows *l = windows_new(3);
    (void)state;
    for (int64_t key = 0; key < 100000; key++)
        assert_true(windows_acquire(l, key, key).admitted);
    assert_true(windows_key_count(l) <= 60001);
    for (int64_t i = 0; i < 50000; i++)
        (void)windows_acquire(l, 7, 200000 + i);
    assert_int_equal(windows_key_count(l), 1);
    windows_free(l);
}

static void recording_into_a_full_window_drops_its_oldest_request(void **state)
{
    enum { MANY = 5000, LIMIT = 3 };
    struct windows *l = windows_new(LIMIT);
    (void)state;
    for (int64_t round = 0; round < LIMIT + 2; round++)
        for (int64_t i = 0; i < MANY; i++)
            windows_record(l, i * 1000003, round * 100);
    assert_int_equal(windows_key_count(l), MANY);
    for (int64_t i = 0; i < MANY; i++) { /* the requests at 200, 300 and 400 are counted */
        assert_false(windows_acquire(l, i * 1000003, 60199).admitted);
        assert_true(windows_acquire(l, i * 1000003, 60200).admitted);
        assert_false(windows_acquire(l, i * 1000003, 60299).admitted);
    }
    windows_free(l);
}

static void recorded_requests_expire(void **state)
{
    struct windows *l = windows_new(4);
    (void)state;
    for (int64_t t = 0; t < 50; t++)
        windows_record(l, 1, t * 30000); /* two a minute */
    struct limit_verdict v = windows_acquire(l, 1, 49 * 30000 + 1);
    assert_true(v.admitted);
    assert_int_equal(v.remaining, 1);
    assert_int_equal(v.reset_ms, 30000 - 1);
    windows_free(l);
}

static void stores_a_rejection_per_key_until_it_expires(void **state)
{
    enum { MANY = 1000 };
    struct windows *l = windows_new(5);
    (void)state;
    for (int64_t key = 0; key < MANY; key += 2)
        windows_store_rejection(l, key, 5000, 1000 + key);
    for (int64_t key = 0; key < MANY; key++) {
        const int64_t until = key % 2 ? 0 : 5000;
        assert_int_equal(windows_find_rejection(l, key, 0), until);
        assert_int_equal(windows_find_rejection(l, key, 999 + key), until);
        assert_int_equal(windows_find_rejection(l, key, 1000 + key), 0);
    }
    windows_store_rejection(l, 2, 500, 500); /* replaces the earlier rejection */
    assert_int_equal(windows_find_rejection(l, 2, 499), 500);
    assert_int_equal(windows_find_rejection(l, 2, 500), 0);
    windows_free(l);
}

/* If Redis replies late to a request, this request may be recorded after a request that arrived later. */
static void requests_recorded_out_of_order_are_counted(void **state)
{
    struct windows *l = windows_new(2);
    (void)state;
    windows_record(l, 1, 1020);
    windows_record(l, 1, 1000);
    assert_false(windows_acquire(l, 1, 1021).admitted);
    assert_false(windows_acquire(l, 1, 61010).admitted);
    assert_true(windows_acquire(l, 1, 61020).admitted);
    windows_free(l);
}

static void limit_zero_means_unlimited(void **state)
{
    struct windows *l = windows_new(0);
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_true(windows_acquire(l, 1, 0).admitted);
    assert_int_equal(windows_acquire(l, 1, 0).limit, 0);
    windows_free(l);
}

/* The current limit applies, whatever the limit was when the earlier requests were admitted. */
static void changed_limit_applies_to_earlier_requests_too(void **state)
{
    struct windows *l = windows_new(10);
    (void)state;
    for (int i = 0; i < 10; i++)
        assert_true(windows_acquire(l, 1, i).admitted);
    windows_store_rejection(l, 2, 50000, 50000);
    windows_set_limit(l, 12);
    assert_int_equal(windows_find_rejection(l, 2, 10), 0);
    assert_int_equal(windows_acquire(l, 1, 10).remaining, 1);
    assert_true(windows_acquire(l, 1, 11).admitted);
    assert_false(windows_acquire(l, 1, 12).admitted);
    /* Of the counted requests at 9, 10 and 11 ms, the first leaves the window at 60,009 ms. */
    windows_set_limit(l, 3);
    struct limit_verdict v = windows_acquire(l, 1, 59999);
    assert_false(v.admitted);
    assert_int_equal(v.remaining, 0);
    assert_int_equal(v.reset_ms, 10);
    assert_true(windows_acquire(l, 1, 60009).admitted);
    windows_set_limit(l, 0);
    assert_true(windows_acquire(l, 1, 60009).admitted);
    windows_set_limit(l, 1);
    assert_true(windows_acquire(l, 1, 60010).admitted);
    assert_false(windows_acquire(l, 1, 60011).admitted);
    windows_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_of_sixty_then_one_per_freed_slot),
        cmocka_unit_test(rejected_requests_are_not_counted),
        cmocka_unit_test(verdicts_of_random_requests_equal_a_recount),
        cmocka_unit_test(removes_windows_of_idle_keys),
        cmocka_unit_test(recording_into_a_full_window_drops_its_oldest_request),
        cmocka_unit_test(recorded_requests_expire),
        cmocka_unit_test(stores_a_rejection_per_key_until_it_expires),
        cmocka_unit_test(requests_recorded_out_of_order_are_counted),
        cmocka_unit_test(limit_zero_means_unlimited),
        cmocka_unit_test(changed_limit_applies_to_earlier_requests_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

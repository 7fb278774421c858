/* The exact window against a plain re-count, and its memory. */
#include "unit.h"

#include "base/clock.h"
#include "limit/window.h"

#include <stdlib.h>

static void sixty_at_once_then_one_a_place(void **state)
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
        windows_acquire(l, 1, 1000 + 60000).admitted); /* the second one leaves a millisecond later */
    assert_true(windows_acquire(l, 2, 1060).admitted); /* another key is another window */
    windows_free(l);
}

/* Refused requests are not recorded: hammering does not prolong the wait. */
static void refused_requests_do_not_count(void **state)
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

static void equals_a_plain_recount(void **state)
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

static void quiet_keys_are_forgotten(void **state)
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

static void record(struct windows *l, int64_t key, int64_t now_ms)
{
    windows_record(l, &key, 1, now_ms);
}

/* What one window would say of each key, whatever else is recorded with it, and however many are. */
static void what_is_recorded_together_is_recorded(void **state)
{
    enum { MANY = 5000, LIMIT = 3 };
    struct windows *l = windows_new(LIMIT);
    int64_t keys[MANY];
    (void)state;
    windows_record(l, keys, 0, 0);
    assert_int_equal(windows_key_count(l), 0);
    for (int64_t i = 0; i < MANY; i++)
        keys[i] = i * 1000003;
    for (int64_t turn = 0; turn < LIMIT + 2; turn++) /* the last two push the first two out */
        for (size_t i = 0; i < MANY; i += 50)
            windows_record(l, keys + i, 50, turn * 100);
    assert_int_equal(windows_key_count(l), MANY);
    for (int i = 0; i < MANY; i++) {
        assert_false(windows_acquire(l, keys[i], 60199).admitted);
        assert_true(windows_acquire(l, keys[i], 60200).admitted);
        assert_false(windows_acquire(l, keys[i], 60299).admitted);
    }
    windows_free(l);
}

/* As long as there is room in a window nothing is looked at that has left it. */
static void what_has_left_goes_when_its_room_is_needed(void **state)
{
    struct windows *l = windows_new(4);
    (void)state;
    for (int64_t t = 0; t < 50; t++)
        record(l, 1, t * 30000); /* two in a minute */
    struct limit_verdict v = windows_acquire(l, 1, 49 * 30000 + 1);
    assert_true(v.admitted);
    assert_int_equal(v.remaining, 1);
    assert_int_equal(v.reset_ms, 30000 - 1);
    windows_free(l);
}

/* Each key for itself: also where a thousand share what says at a glance that none is refused. */
static void each_key_is_refused_for_itself(void **state)
{
    enum { MANY = 1000 };
    struct windows *l = windows_new(5);
    (void)state;
    for (int64_t key = 0; key < MANY; key += 2)
        windows_store_rejection(l, key, 1000 + key);
    for (int64_t key = 0; key < MANY; key++) {
        const int64_t until = key % 2 ? 0 : 1000 + key;
        assert_int_equal(windows_find_rejection(l, key, 0), until);
        assert_int_equal(windows_find_rejection(l, key, 999 + key), until);
        assert_int_equal(windows_find_rejection(l, key, 1000 + key), 0);
    }
    for (int64_t key = 0; key < MANY; key += 4)
        windows_store_rejection(l, key, 500); /* earlier than before: the last word counts */
    for (int64_t key = 0; key < MANY; key++)
        assert_int_equal(windows_find_rejection(l, key, 600), key % 4 == 2 ? 1000 + key : 0);
    windows_free(l);
}

/* A request that Redis was asked about and was late for is recorded behind one that came after it. */
static void what_is_recorded_out_of_turn_counts(void **state)
{
    struct windows *l = windows_new(2);
    (void)state;
    record(l, 1, 1020);
    record(l, 1, 1000);
    assert_false(windows_acquire(l, 1, 1021).admitted);
    assert_false(windows_acquire(l, 1, 61010).admitted);
    assert_true(windows_acquire(l, 1, 61020).admitted);
    windows_free(l);
}

static void zero_is_no_limit(void **state)
{
    struct windows *l = windows_new(0);
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_true(windows_acquire(l, 1, 0).admitted);
    assert_int_equal(windows_acquire(l, 1, 0).limit, 0);
    windows_free(l);
}

/* Whatever the limit was when they came: admitted iff fewer than the limit of now were in the last minute. */
static void the_limit_may_change(void **state)
{
    struct windows *l = windows_new(10);
    (void)state;
    for (int i = 0; i < 10; i++)
        assert_true(windows_acquire(l, 1, i).admitted);
    windows_store_rejection(l, 2, 50000);
    windows_set_limit(l, 12);
    assert_int_equal(windows_find_rejection(l, 2, 10), 0);
    assert_int_equal(windows_acquire(l, 1, 10).remaining, 1);
    assert_true(windows_acquire(l, 1, 11).admitted);
    assert_false(windows_acquire(l, 1, 12).admitted);
    windows_set_limit(l, 3); /* of those at 9, 10 and 11 the first leaves at 60009 */
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
        cmocka_unit_test(sixty_at_once_then_one_a_place),
        cmocka_unit_test(refused_requests_do_not_count),
        cmocka_unit_test(equals_a_plain_recount),
        cmocka_unit_test(quiet_keys_are_forgotten),
        cmocka_unit_test(what_is_recorded_together_is_recorded),
        cmocka_unit_test(what_has_left_goes_when_its_room_is_needed),
        cmocka_unit_test(each_key_is_refused_for_itself),
        cmocka_unit_test(what_is_recorded_out_of_turn_counts),
        cmocka_unit_test(zero_is_no_limit),
        cmocka_unit_test(the_limit_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

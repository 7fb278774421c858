/* Tests the values of the milestones, and which milestones a gain reaches. */
#include "rules/milestones.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void values_follow_the_1_2_5_pattern_from_one_million_on(void **state)
{
    (void)state;
    int64_t v[MILESTONES_MAX];
    assert_int_equal(milestones_between(-1, COUNT_MAX, v), MILESTONES_MAX);
    const int64_t first[] = {1000,    10000,   50000,   100000,   250000,   500000,
                             1000000, 2000000, 5000000, 10000000, 20000000, 50000000};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        assert_int_equal(v[i], first[i]);
    assert_int_equal(v[MILESTONES_MAX - 1], INT64_C(5000000000000000));
    /* From 10,000,000 on, each value is ten times the third value before it. */
    for (size_t i = 9; i < MILESTONES_MAX; i++)
        assert_int_equal(v[i], 10 * v[i - 3]);
}

static void milestones_of_a_gain_exclude_its_start_and_include_its_end(void **state)
{
    (void)state;
    int64_t v[MILESTONES_MAX];
    assert_int_equal(milestones_between(0, 999, v), 0);
    assert_int_equal(milestones_between(0, 1000, v), 1);
    assert_int_equal(milestones_between(999, 1000, v), 1);
    assert_int_equal(v[0], 1000);
    assert_int_equal(milestones_between(1000, 9999, v), 0);
    assert_int_equal(milestones_between(1000, 1000, v), 0);
    assert_int_equal(milestones_between(1000, 10000, v), 1);
    assert_int_equal(v[0], 10000);
    assert_int_equal(milestones_between(999, 250001, v), 5);
    assert_int_equal(v[4], 250000);
}

/* Each value is reached once, no matter how the increase is split into steps. */
static void random_steps_reach_every_value_once(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 300; round++) {
        int64_t at = 0, passed = 0, v[MILESTONES_MAX], expected = 1000;
        while (at < COUNT_MAX) {
            int64_t to = at + 1 + rand_r(&seed) % 3000 + at / (1 + rand_r(&seed) % 5);
            if (to > COUNT_MAX)
                to = COUNT_MAX;
            size_t n = milestones_between(at, to, v);
            for (size_t i = 0; i < n; i++)
                assert_true(v[i] > at && v[i] <= to && v[i] >= expected && (expected = v[i] + 1));
            passed += (int64_t)n;
            at = to;
        }
        assert_int_equal(passed, MILESTONES_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_1_2_5_pattern_from_one_million_on),
        cmocka_unit_test(milestones_of_a_gain_exclude_its_start_and_include_its_end),
        cmocka_unit_test(random_steps_reach_every_value_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

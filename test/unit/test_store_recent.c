/* The recent days of a video against a list of all gains. */
#include "lib/random.h"

#include "store/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DAYS = 60, FIRST = -20 /* dates before 1970 work too */ };

static void assert_range(const struct recent_days *recent, const int64_t gains[DAYS], int from, int to)
{
    size_t count, n = 0;
    const struct day_gain *days = recent_within(recent, FIRST + from, FIRST + to, &count);
    int64_t total = 0;
    for (int d = 0; d < DAYS && d <= to; d++) {
        total += gains[d];
        if (d < from || !gains[d])
            continue;
        assert_true(n < count);
        assert_int_equal(days[n].date, FIRST + d);
        assert_int_equal(days[n].gained, gains[d]);
        assert_int_equal(days[n].gained_total, total);
        n++;
    }
    assert_int_equal(n, count);
}

static void covered_ranges_match_the_model(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        int64_t gains[DAYS] = {0};
        struct recent_days recent = {.known = true};
        int newest = -1, steps = (int)random_below(4) ? 3 : 20;
        for (int d = (int)random_below(20); d < DAYS; d += (int)random_below((uint64_t)steps)) {
            int64_t gained = 1 + (int64_t)random_below(1000);
            newest = d;
            gains[d] += gained;
            recent_add(&recent, FIRST + d, gained);
            for (int from = -3; from < DAYS; from++) {
                assert_int_equal(recent_reaches(&recent, FIRST + from), from >= newest - 7);
                if (from >= newest - 7)
                    assert_range(&recent, gains, from, from + (int)random_below(12));
            }
        }
        assert_true(recent.known && recent_is_sound(&recent));
    }
}

static void ranges_without_gains_are_empty(void **state)
{
    (void)state;
    struct recent_days recent = {.known = true};
    size_t count;
    assert_true(recent_reaches(&recent, INT32_MIN / 2));
    (void)recent_within(&recent, INT32_MIN / 2, INT32_MAX / 2, &count);
    assert_int_equal(count, 0);
}

/* Days that can no longer be computed become unknown; the table `daily` still has them. */
static void impossible_gains_make_the_days_unknown(void **state)
{
    (void)state;
    struct recent_days earlier = {.known = true}, large = {.known = true};
    recent_add(&earlier, 10, 5);
    recent_add(&earlier, 9, 1);
    assert_false(earlier.known);
    recent_add(&large, 10, GAINED_MAX);
    assert_true(large.known);
    recent_add(&large, 11, 1);
    assert_false(large.known);
}

static void inconsistent_totals_are_not_sound(void **state)
{
    (void)state;
    const struct recent_days sound = {
        .known = true, .count = 2, .days = {{.date = 4, .gained = 3, .gained_total = 8}, {5, 2, 10}}};
    struct recent_days r = sound;
    assert_true(recent_is_sound(&r));
    r.days[1].gained_total = 11;
    assert_false(recent_is_sound(&r));
    r = sound;
    r.days[0].gained = 9;
    assert_false(recent_is_sound(&r));
    r = sound;
    r.days[1] = (struct day_gain){.date = 5, .gained = -1, .gained_total = 7};
    assert_false(recent_is_sound(&r));
    r = sound;
    r.days[1].gained = INT64_MAX;
    assert_false(recent_is_sound(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covered_ranges_match_the_model),
        cmocka_unit_test(ranges_without_gains_are_empty),
        cmocka_unit_test(impossible_gains_make_the_days_unknown),
        cmocka_unit_test(inconsistent_totals_are_not_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

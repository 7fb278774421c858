/* Tests when a run is due: each hour, after clock changes, and with jitter. */
#include "refresh/schedule.h"

#include "base/clock.h"
#include "store/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define DAY              INT64_C(1782864000000) /* 2026-07-01T00:00:00Z */
#define AT(hour, minute) (DAY + (hour)*HOUR_MS + (minute)*MINUTE_MS)

static const struct slot_rule hourly = {.period_ms = HOUR_MS, .offset_ms = 55 * MINUTE_MS};

static void slot_begins_at_configured_minute(void **state)
{
    (void)state;
    const int64_t slot = slot_of(&hourly, AT(10, 55));
    assert_int_equal(slot_of(&hourly, AT(10, 55) - 1), slot - 1);
    assert_int_equal(slot_of(&hourly, AT(11, 55) - 1), slot);
    assert_int_equal(slot_due_at(&hourly, slot), AT(10, 55));
    assert_int_equal(slot_of(&hourly, -1), -1); /* before 1970-01-01T00:55 */
}

static void run_is_due_once_per_slot(void **state)
{
    (void)state;
    assert_true(slot_is_due(&hourly, AT(10, 0), TIME_NONE));
    assert_false(slot_is_due(&hourly, AT(10, 54), AT(9, 55)));
    assert_true(slot_is_due(&hourly, AT(10, 55), AT(9, 55)));
    assert_false(slot_is_due(&hourly, AT(10, 55), AT(10, 55)));
    assert_false(slot_is_due(&hourly, AT(11, 54), AT(10, 55)));
    /* A late run counts for the slot in which it starts. */
    assert_true(slot_is_due(&hourly, AT(11, 10), AT(9, 55)));
    assert_false(slot_is_due(&hourly, AT(11, 50), AT(11, 10)));
    assert_true(slot_is_due(&hourly, AT(11, 55), AT(11, 10)));
}

/* Simulates a server that checks the clock every minute. Returns the number of runs. */
static int count_runs(const struct slot_rule *rule, int64_t from, int64_t to, int64_t *last)
{
    int runs = 0;
    for (int64_t t = from; t < to; t += MINUTE_MS)
        if (slot_is_due(rule, t, *last)) {
            *last = t;
            runs++;
        }
    return runs;
}

static void clock_changes_neither_repeat_nor_skip_a_run(void **state)
{
    (void)state;
    int64_t last = TIME_NONE;
    assert_int_equal(count_runs(&hourly, AT(0, 0), AT(24, 0), &last), 25);
    assert_int_equal(last, AT(23, 55));
    /* The clock is set back by an hour: the run of that hour is not repeated. */
    assert_int_equal(count_runs(&hourly, AT(23, 0), AT(24, 55), &last), 0);
    assert_int_equal(count_runs(&hourly, AT(24, 55), AT(25, 0), &last), 1);
    /* The clock is set forward by five hours, then by ten years: each time, one run is due. */
    assert_int_equal(count_runs(&hourly, AT(30, 0), AT(30, 55), &last), 1);
    const int64_t years = 3652 * DAY_MS;
    assert_int_equal(count_runs(&hourly, AT(31, 0) + years, AT(31, 55) + years, &last), 1);
    /* The clock is set back by the same ten years: runs continue every hour. */
    assert_int_equal(count_runs(&hourly, AT(31, 0), AT(31, 55), &last), 1);
    assert_int_equal(last, AT(31, 0));
}

static void jitter_is_within_its_limit(void **state)
{
    (void)state;
    struct slot_rule rule = hourly;
    int64_t least = HOUR_MS, most = 0;
    rule.jitter_ms = 300 * SECOND_MS;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        rule.seed = seed;
        const int64_t slot = slot_of(&rule, AT(10, 55)), due = slot_due_at(&rule, slot);
        const int64_t late = due - AT(10, 55);
        least = late < least ? late : least;
        most = late > most ? late : most;
        assert_int_equal(slot_due_at(&rule, slot), due);
        assert_false(slot_is_due(&rule, due - 1, AT(9, 59)));
        assert_true(slot_is_due(&rule, due, AT(9, 59)));
        /* Another process with less jitter has already started the run of this slot. */
        assert_false(slot_is_due(&rule, due, AT(10, 55)));
    }
    assert_in_range(least, 0, 10 * SECOND_MS);
    assert_in_range(most, 290 * SECOND_MS, 300 * SECOND_MS);
}

static void jitter_takes_every_value_up_to_its_limit(void **state)
{
    (void)state;
    struct slot_rule rule = hourly;
    bool seen[4] = {false};
    rule.jitter_ms = 3;
    for (rule.seed = 1; rule.seed <= 200; rule.seed++) {
        const int64_t late = slot_due_at(&rule, slot_of(&rule, AT(10, 55))) - AT(10, 55);
        assert_in_range(late, 0, 3);
        seen[late] = true;
    }
    assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
}

static void slot_next_returns_the_time_at_which_a_run_becomes_due(void **state)
{
    (void)state;
    struct slot_rule rule = hourly;
    rule.jitter_ms = 240 * SECOND_MS;
    rule.seed = 7;
    for (int64_t last = AT(9, 0); last < AT(11, 0); last += 7 * MINUTE_MS)
        for (int64_t now = last; now < last + 2 * HOUR_MS; now += 11 * SECOND_MS) {
            const int64_t next = slot_next(&rule, now, last);
            assert_true(slot_is_due(&rule, next, last));
            assert_false(slot_is_due(&rule, next - 1, last));
            assert_int_equal(slot_is_due(&rule, now, last), next <= now);
        }
    assert_int_equal(slot_next(&rule, AT(9, 0), TIME_NONE), AT(9, 0));
    assert_int_equal(slot_next(&rule, AT(9, 0), AT(12, 0)), AT(9, 0));
}

static void interval_of_simulated_source_replaces_hour_and_jitter(void **state)
{
    (void)state;
    struct config config = {.refresh = {.minute = 55, .jitter_s = 100, .interval_s = 10}};
    const struct slot_rule rule = refresh_slot_rule(&config, 3);
    assert_false(slot_is_due(&rule, AT(1, 0) + 9999, AT(1, 0)));
    assert_true(slot_is_due(&rule, AT(1, 0) + 10000, AT(1, 0)));
    config.refresh.interval_s = 0;
    assert_int_equal(refresh_slot_rule(&config, 3).period_ms, HOUR_MS);
    assert_int_equal(refresh_slot_rule(&config, 3).jitter_ms, 100000);
}

static void short_interval_is_late_after_one_more_interval(void **state)
{
    (void)state;
    const struct config config = {.refresh = {.minute = 55, .interval_s = 10}};
    assert_false(refresh_is_late(&config, AT(1, 0) + 19999, AT(1, 0)));
    assert_true(refresh_is_late(&config, AT(1, 0) + 20000, AT(1, 0)));
    assert_true(refresh_is_late(&config, AT(1, 0), TIME_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slot_begins_at_configured_minute),
        cmocka_unit_test(run_is_due_once_per_slot),
        cmocka_unit_test(clock_changes_neither_repeat_nor_skip_a_run),
        cmocka_unit_test(jitter_is_within_its_limit),
        cmocka_unit_test(jitter_takes_every_value_up_to_its_limit),
        cmocka_unit_test(slot_next_returns_the_time_at_which_a_run_becomes_due),
        cmocka_unit_test(interval_of_simulated_source_replaces_hour_and_jitter),
        cmocka_unit_test(short_interval_is_late_after_one_more_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

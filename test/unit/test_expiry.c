/* Tests the expiry floor with clocks that the tests set. */
#include "unit.h"

#include "base/expiry_floor.h"

#define START INT64_C(1782864000000)
#define YEARS (10 * 365 * DAY_MS)

/* A process that observes the wall clock once a minute of monotonic time, and that can be restarted.
 * `running_ms` is the floor in its memory. */
struct world {
    struct expiry_state stored;
    int64_t wall_ms, running_ms;
};

static void observe(struct world *w, int64_t elapsed_ms)
{
    expiry_observe(&w->stored, w->wall_ms, w->running_ms, elapsed_ms);
    if (w->stored.floor_ms > w->running_ms)
        w->running_ms = w->stored.floor_ms;
}

static void minutes(struct world *w, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        w->wall_ms += MINUTE_MS;
        w->running_ms += MINUTE_MS;
        observe(w, MINUTE_MS);
    }
}

/* Restarts the process after `down_ms`. The new process has only the stored floor. */
static void restart(struct world *w, int64_t down_ms)
{
    w->wall_ms += down_ms;
    w->running_ms = w->stored.floor_ms;
    observe(w, 0);
}

static struct world begin(void)
{
    struct world w = {.wall_ms = START};
    observe(&w, 0);
    assert_int_equal(w.stored.floor_ms, START);
    return w;
}

static void floor_follows_the_wall_clock(void **state)
{
    struct world w = begin();
    (void)state;
    minutes(&w, 3 * 24 * 60);
    assert_int_equal(w.stored.floor_ms, START + 3 * DAY_MS);
    w.wall_ms += 20;
    observe(&w, 0);
    assert_int_equal(w.stored.floor_ms, START + 3 * DAY_MS + 20);
}

static void setting_the_clock_back_does_not_lower_the_floor(void **state)
{
    struct world w = begin();
    (void)state;
    w.wall_ms -= YEARS;
    observe(&w, 0);
    assert_int_equal(w.stored.floor_ms, START);
    minutes(&w, 5); /* the floor must advance, so that an item issued now still expires */
    assert_int_equal(w.stored.floor_ms, START + 5 * MINUTE_MS);
    assert_int_equal(w.stored.ahead_wall_ms, 0);
}

static void clock_at_most_an_hour_ahead_moves_the_floor(void **state)
{
    struct world w = begin();
    (void)state;
    w.wall_ms += HOUR_MS;
    observe(&w, 0);
    assert_int_equal(w.stored.floor_ms, START + HOUR_MS);
    w.wall_ms += HOUR_MS + 1;
    observe(&w, 0);
    assert_int_equal(w.stored.floor_ms, START + HOUR_MS);
    assert_int_equal(w.stored.ahead_wall_ms, w.wall_ms);
}

static void clock_jump_is_adopted_after_24_hours(void **state)
{
    struct world w = begin();
    (void)state;
    w.wall_ms += YEARS;
    observe(&w, 0);
    minutes(&w, 24 * 60 - 1);
    assert_int_equal(w.stored.floor_ms, START + DAY_MS - MINUTE_MS);
    w.wall_ms += MINUTE_MS - 1;
    w.running_ms += MINUTE_MS - 1;
    observe(&w, MINUTE_MS - 1);
    assert_int_equal(w.stored.floor_ms, START + DAY_MS - 1);
    w.wall_ms += 1;
    observe(&w, 1);
    assert_int_equal(w.stored.floor_ms, START + YEARS + DAY_MS);
    assert_int_equal(w.stored.ahead_wall_ms, 0);
    assert_int_equal(w.stored.ahead_for_ms, 0);
}

static void clock_ten_years_ahead_for_an_hour_has_no_lasting_effect(void **state)
{
    struct world w = begin();
    (void)state;
    w.wall_ms += YEARS;
    observe(&w, 0);
    minutes(&w, 60);
    w.wall_ms -= YEARS;
    minutes(&w, 1);
    assert_int_equal(w.stored.floor_ms, START + 61 * MINUTE_MS);
    assert_int_equal(w.stored.ahead_wall_ms, 0);
    w.wall_ms += YEARS; /* the clock jumps a second time, so the 24 hours begin again */
    minutes(&w, 24 * 60);
    assert_true(w.stored.floor_ms < START + YEARS);
}

static void second_clock_jump_restarts_the_wait_of_24_hours(void **state)
{
    struct world w = begin();
    (void)state;
    w.wall_ms += DAY_MS;
    observe(&w, 0);
    minutes(&w, 23 * 60);
    w.wall_ms += YEARS;
    minutes(&w, 24 * 60 - 1);
    assert_true(w.stored.floor_ms < START + YEARS);
    minutes(&w, 2);
    assert_int_equal(w.stored.floor_ms, w.wall_ms);
}

static void clock_jump_is_accepted_after_24_hours_of_uptime_across_a_restart(void **state)
{
    struct world w = begin();
    (void)state;
    w.wall_ms += YEARS;
    observe(&w, 0);
    minutes(&w, 23 * 60);
    restart(&w, HOUR_MS);
    minutes(&w, 59);
    assert_true(w.stored.floor_ms < START + YEARS);
    minutes(&w, 1);
    assert_int_equal(w.stored.floor_ms, w.wall_ms);
}

static void downtime_of_over_an_hour_restarts_the_wait_of_24_hours(void **state)
{
    struct world w = begin();
    (void)state;
    w.wall_ms += YEARS;
    observe(&w, 0);
    minutes(&w, 23 * 60);
    restart(&w, HOUR_MS + 1);
    assert_int_equal(w.stored.ahead_for_ms, 0);
    assert_true(w.stored.ahead_wall_ms == w.wall_ms);
}

static void two_processes_do_not_count_a_minute_twice(void **state)
{
    struct world w = begin();
    (void)state;
    w.wall_ms += YEARS;
    observe(&w, 0);
    for (int i = 0; i < 60; i++) { /* two processes observe once a minute, half a minute apart */
        w.wall_ms += MINUTE_MS / 2;
        observe(&w, MINUTE_MS);
        w.wall_ms += MINUTE_MS / 2;
        observe(&w, MINUTE_MS);
    }
    assert_int_equal(w.stored.ahead_for_ms, HOUR_MS);
}

static void expiry_uses_the_later_of_wall_clock_and_floor(void **state)
{
    (void)state;
    assert_int_equal(expiry_floor_ms(), 0);
    int64_t wall_ms = clock_wall_ms(), mono_ms = clock_mono_ms();
    assert_true(expiry_now_ms() >= wall_ms && expiry_now_ms() < wall_ms + DAY_MS);
    expiry_raise_floor(wall_ms + DAY_MS, mono_ms);
    assert_true(expiry_now_ms() >= wall_ms + DAY_MS);
    expiry_raise_floor(wall_ms, mono_ms); /* never lowers it */
    assert_true(expiry_floor_ms() >= wall_ms + DAY_MS);
}

/* A process checks an item that another process has issued. The clock of the checking process is behind
 * the clock of the other process. */
static void skew_between_processes_is_tolerated_up_to_its_limit(void **state)
{
    (void)state;
    const int64_t issued = 1000 * DAY_MS, life = 5 * MINUTE_MS;
    assert_false(expiry_has_passed(issued, life, issued));
    assert_false(expiry_has_passed(issued, life, issued - 4));
    assert_false(expiry_has_passed(issued, life, issued - EXPIRY_SKEW_MS));
    assert_true(expiry_has_passed(issued, life, issued - EXPIRY_SKEW_MS - 1));
    assert_true(expiry_has_passed(issued, life, issued - DAY_MS));
    assert_false(expiry_has_passed(issued, life, issued + life - 1));
    assert_true(expiry_has_passed(issued, life, issued + life));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skew_between_processes_is_tolerated_up_to_its_limit),
        cmocka_unit_test(floor_follows_the_wall_clock),
        cmocka_unit_test(setting_the_clock_back_does_not_lower_the_floor),
        cmocka_unit_test(clock_at_most_an_hour_ahead_moves_the_floor),
        cmocka_unit_test(clock_jump_is_adopted_after_24_hours),
        cmocka_unit_test(clock_ten_years_ahead_for_an_hour_has_no_lasting_effect),
        cmocka_unit_test(second_clock_jump_restarts_the_wait_of_24_hours),
        cmocka_unit_test(clock_jump_is_accepted_after_24_hours_of_uptime_across_a_restart),
        cmocka_unit_test(downtime_of_over_an_hour_restarts_the_wait_of_24_hours),
        cmocka_unit_test(two_processes_do_not_count_a_minute_twice),
        cmocka_unit_test(expiry_uses_the_later_of_wall_clock_and_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests the schedule of the refresh with test sources: which sources each run reads, and when a run is
 * overdue. test_slot tests when a run is due. */
#include "admin/refresh_metrics.h"
#include "base/clock.h"
#include "refresh/schedule.h"
#include "refresh/run.h"

#include "jobs/lease.h"
#include "lib/refreshing.h"
#include "store/ticket_lock.h"
#include "store/write.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { WAIT_MS = 60 * 1000, PAUSE_MS = 16 * 1000 /* longer than the pause after the first failure */ };

static struct refreshing r;
static uv_loop_t loop;
static struct ticket_lock *write_lock;
static struct store *reads;
static struct schedule *schedule;
static atomic_int spool_runs;
static atomic_bool simulated_fails;

static enum err run_spool(struct run *run)
{
    (void)run;
    atomic_fetch_add(&spool_runs, 1);
    return OK;
}

static enum err run_simulated(struct run *run)
{
    return atomic_load(&simulated_fails) ? run_fail(run, ERR_IO, "failed by the test") : OK;
}

static const struct source spool = {.kind = SOURCE_SPOOL, .run = run_spool};
static const struct source simulated = {.kind = SOURCE_SIMULATED, .run = run_simulated};

static int set_up(void **state)
{
    static const struct source_list sources = {{&spool, &simulated}};
    struct error error;
    (void)state;
    refreshing_init(&r);
    test_clock_ms[1] = 60 * 60 * 1000;
    assert_int_equal(uv_loop_init(&loop), 0);
    const struct store_options options = {.path = r.config.store.path, .mode = STORE_READ, .loop = &loop};
    assert_int_equal(store_open(&reads, &options, &error), OK);
    write_lock = ticket_lock_new();
    atomic_store(&spool_runs, 0);
    atomic_store(&simulated_fails, false);
    schedule = schedule_open(&loop, &r.config, reads, write_lock, &sources);
    return 0;
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

static int tear_down(void **state)
{
    bool closed = false;
    (void)state;
    schedule_close(schedule, on_closed, &closed);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(closed);
    store_close(reads);
    test_clock_ms[1] = 0;
    assert_int_equal(uv_loop_close(&loop), 0);
    ticket_lock_free(write_lock);
    refreshing_fini(&r);
    return 0;
}

/* Runs the loop until `count` runs have ended with this result. */
static void wait_for_runs(enum run_state result, int count)
{
    const uint64_t deadline = uv_hrtime() + (uint64_t)WAIT_MS * 1000000;
    while (schedule_state(schedule)->runs[result] < count) {
        assert_true(uv_hrtime() < deadline);
        (void)uv_run(&loop, UV_RUN_ONCE);
    }
}

static void file_that_arrives_before_a_retry_of_another_source_is_applied(void **state)
{
    (void)state;
    atomic_store(&simulated_fails, true);
    wait_for_runs(RUN_FAILED, 1);
    assert_int_equal(spool_runs, 1);
    schedule_spool_changed(schedule);
    atomic_store(&simulated_fails, false);
    test_clock_ms[1] += PAUSE_MS;
    wait_for_runs(RUN_SUCCEEDED, 2); /* the retry of the simulated source, then the run of the spool */
    assert_int_equal(spool_runs, 2);
}

static void start_of_a_run_is_recorded(void **state)
{
    const int64_t before = clock_wall_ms();
    (void)state;
    wait_for_runs(RUN_SUCCEEDED, 1);
    const int64_t started_at = schedule_state(schedule)->run_started_at;
    assert_true(started_at >= before && started_at <= clock_wall_ms());
}

static void run_in_progress_is_overdue_only_after_an_hour(void **state)
{
    struct schedule_state s = {.enabled = true};
    (void)state;
    s.next_at = clock_wall_ms() - 30 * MINUTE_MS;
    assert_false(refresh_is_overdue(&s));
    s.next_at--;
    assert_true(refresh_is_overdue(&s));
    s.running = true;
    s.run_started_at = s.next_at + 30 * MINUTE_MS;
    assert_false(refresh_is_overdue(&s));
    s.next_at = clock_wall_ms() - HOUR_MS;
    s.run_started_at = s.next_at;
    assert_false(refresh_is_overdue(&s));
    s.next_at--;
    assert_true(refresh_is_overdue(&s));
    s.next_at = TIME_NONE;
    assert_false(refresh_is_overdue(&s));
}

static void run_that_starts_when_it_is_overdue_stays_overdue(void **state)
{
    struct schedule_state s = {.enabled = true, .running = true};
    (void)state;
    s.next_at = clock_wall_ms() - 40 * MINUTE_MS;
    s.run_started_at = s.next_at + 30 * MINUTE_MS + 1;
    assert_true(refresh_is_overdue(&s));
}

/* Acquires the lease of the refresh, as another process does for its run. */
static struct store *begin_run_of_another_process(void)
{
    const struct store_options options = {.path = r.config.store.path, .mode = STORE_WRITE};
    struct store *store;
    struct error error;
    struct lease lease;
    struct lease_row row;
    assert_int_equal(store_open(&store, &options, &error), OK);
    lease_init(&lease, LEASE_REFRESH);
    assert_int_equal(store_begin(store), OK);
    assert_int_equal(lease_acquire(&lease, store, &row), OK);
    assert_int_equal(store_commit(store), OK);
    return store;
}

static void run_of_another_process_is_overdue_only_after_an_hour(void **state)
{
    struct store *other = begin_run_of_another_process();
    const struct schedule_state *s = schedule_state(schedule);
    const uint64_t deadline = uv_hrtime() + (uint64_t)WAIT_MS * 1000000;
    (void)state;
    while (!s->other_is_running) {
        assert_true(uv_hrtime() < deadline);
        (void)uv_run(&loop, UV_RUN_ONCE);
    }
    test_clock_ms[0] = s->next_at + HOUR_MS;
    assert_false(refresh_is_overdue(s));
    test_clock_ms[0]++;
    assert_true(refresh_is_overdue(s));
    store_close(other);
    test_clock_ms[1] += PAUSE_MS; /* the lease has expired, so the next attempt succeeds */
    wait_for_runs(RUN_SUCCEEDED, 1);
    assert_false(s->other_is_running);
    assert_false(refresh_is_overdue(s));
}

static void attempt_to_start_beside_another_run_is_no_late_start(void **state)
{
    struct schedule_state s = {.enabled = true, .running = true, .other_is_running = true};
    (void)state;
    s.next_at = clock_wall_ms() - 40 * MINUTE_MS;
    s.run_started_at = clock_wall_ms();
    s.other_found_at = s.next_at + 30 * MINUTE_MS;
    assert_false(refresh_is_overdue(&s));
    s.other_found_at++;
    assert_true(refresh_is_overdue(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(file_that_arrives_before_a_retry_of_another_source_is_applied, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(start_of_a_run_is_recorded, set_up, tear_down),
        cmocka_unit_test(run_in_progress_is_overdue_only_after_an_hour),
        cmocka_unit_test(run_that_starts_when_it_is_overdue_stays_overdue),
        cmocka_unit_test_setup_teardown(run_of_another_process_is_overdue_only_after_an_hour, set_up,
                                        tear_down),
        cmocka_unit_test(attempt_to_start_beside_another_run_is_no_late_start),
    };
    return cmocka_run_group_tests(tests, refreshing_map_clock, NULL);
}

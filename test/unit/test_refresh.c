/* Tests runs of the refresh with test sources and a test clock: readings, counters, records, the lease, and
 * the state that a killed, suspended or stopped process leaves. The linker replaces store_read_lease(). */
#include "refresh/run.h"
#include "refresh/refresh.h"

#include "base/clock.h"
#include "lib/dump.h"
#include "lib/refreshing.h"
#include "jobs/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW IMPORT_NOW

static struct importing t;
static struct config config;
static int64_t post_row; /* row of the video that has the post "y1" */
static atomic_bool stop;

#define WORLD                                                                                                \
    AUTHOR(A1, NAME("Ann"))                                                                                  \
    VIDEO(V1, A1, POSTS(POST("youtube", "y1", "2026-07-01T00:00:00Z")))                                      \
    VIDEO(V2, A1, POSTS(POST("tiktok", "k2", "2026-07-01T00:00:00Z")))

static bool lease_is_locked; /* the database is locked when a lease is read */

enum err __real_store_read_lease(struct store *s, enum lease_kind kind, struct lease_row *out);

enum err __wrap_store_read_lease(struct store *s, enum lease_kind kind, struct lease_row *out)
{
    return lease_is_locked ? ERR_BUSY : __real_store_read_lease(s, kind, out);
}

static int set_up(void **state)
{
    (void)state;
    importing_init(&t);
    import_text(&t, WORLD);
    post_row = query_i64(t.db.path, "SELECT video_id FROM post_keys WHERE post_id = 'y1'");
    config_init(&config);
    free(config.store.path);
    config.store.path = strdup(t.db.path);
    test_clock_ms[0] = NOW;
    atomic_store(&stop, false);
    lease_is_locked = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    config_fini(&config);
    importing_fini(&t);
    return 0;
}

static int64_t sql(const char *query)
{
    return query_i64(t.db.path, query);
}

/* --- helpers --- */

static struct refresh_report report, inner;

static enum err run_with(const struct source *source, enum run_cause cause, struct refresh_report *to)
{
    static const struct slot_rule hourly = {.period_ms = HOUR_MS, .offset_ms = 55 * MINUTE_MS};
    const struct refresh_options options = {.rules = step_rules_from_config(&config),
                                            .config = &config,
                                            .sources = {{source}},
                                            .cause = cause,
                                            .rule = &hourly,
                                            .stop = &stop};
    return refresh_run(&options, to);
}

static enum err run_as(enum err (*fn)(struct run *run), enum run_cause cause, struct refresh_report *to)
{
    const struct source source = {.kind = SOURCE_SIMULATED, .run = fn};
    return run_with(&source, cause, to);
}

static void run_ok(enum err (*fn)(struct run *run))
{
    assert_int_equal(run_as(fn, CAUSE_COMMAND, &report), OK);
    assert_true(report.ran);
}

static struct reading views(int64_t row, enum platform platform, int64_t n)
{
    return (struct reading){.video_row = row,
                            .platform = platform,
                            .counts = {n, COUNT_NONE, COUNT_NONE, COUNT_NONE, COUNT_NONE}};
}

static enum err apply_views(struct run *run, int64_t n)
{
    const struct reading reading = views(post_row, PLATFORM_YOUTUBE, n);
    enum err err = run_queue_step(run, clock_wall_ms(), &reading, 1);
    return err ? err : run_flush(run);
}

static enum err reads_nothing(struct run *run)
{
    return run_heartbeat(run);
}

static enum err reads_5000_views(struct run *run)
{
    return apply_views(run, 5000);
}

static int64_t views_now(void)
{
    return sql("SELECT sum(views) FROM videos");
}

static bool lease_is_free(void)
{
    return sql("SELECT holder = '' FROM refresh_lease") != 0;
}

static int64_t state_of_run(int n)
{
    char query[96];
    (void)snprintf(query, sizeof query, "SELECT ifnull(outcome, -1) FROM refresh_runs WHERE id = %d", n);
    return sql(query);
}

/* --- readings, counters, records --- */

static enum err reads_good_and_rejected(struct run *run)
{
    const struct reading readings[] = {views(post_row, PLATFORM_YOUTUBE, 1500),
                                       views(post_row, PLATFORM_PINTEREST, 1),
                                       views(post_row + 1, PLATFORM_TIKTOK, 20000)};
    assert_int_equal(run_observed_at(run), NOW);
    assert_ptr_equal(run_config(run), &config);
    enum err err = run_queue_step(run, NOW, readings, 3);
    assert_int_equal(views_now(), 0); /* only queued */
    return err ? err : run_flush(run);
}

static void run_applies_readings_and_is_recorded(void **state)
{
    (void)state;
    run_ok(reads_good_and_rejected);
    assert_int_equal(report.state, RUN_PARTIAL);
    assert_int_equal(views_now(), 21500);
    const int64_t(*n)[RUN_COUNTERS] = report.counts.n[SOURCE_SIMULATED];
    assert_int_equal(n[PLATFORM_YOUTUBE][RUN_ACCEPTED], 1);
    assert_int_equal(n[PLATFORM_TIKTOK][RUN_ACCEPTED], 1);
    assert_int_equal(n[PLATFORM_PINTEREST][RUN_REJECTED + REJECTION_UNKNOWN_POST], 1);
    assert_int_equal(n[PLATFORM_COUNT][RUN_VIDEOS], 2);
    assert_int_equal(n[PLATFORM_COUNT][RUN_VIRAL_EVENTS], 1);
    assert_int_equal(n[PLATFORM_COUNT][RUN_MILESTONE_EVENTS], 3);
    assert_int_equal(refresh_count_rejected(&report.counts), 1);
    assert_int_equal(sql("SELECT count(*) FROM refresh_counts"), 6);
    assert_int_equal(
        sql("SELECT value FROM refresh_counts WHERE run_id = 1 AND source = 1 AND platform = -1 AND name = "
            "'milestone_events'"),
        3);
    assert_int_equal(
        sql("SELECT started_at FROM refresh_runs WHERE cause = 1 AND outcome = 1 AND error IS NULL"), NOW);
    assert_int_equal(sql("SELECT finished_at >= started_at FROM refresh_runs"), 1);
    assert_true(lease_is_free());
}

static enum err rolls_back_then_commits(struct run *run)
{
    assert_int_equal(run_begin(run), OK);
    run_count(run, PLATFORM_TIKTOK, RUN_ACCEPTED, 5);
    run_rollback(run);
    assert_int_equal(run_begin(run), OK);
    run_count(run, RUN_NO_PLATFORM, RUN_BAD_LINES, 7);
    return run_commit(run);
}

static void results_counted_in_rolled_back_transactions_are_discarded(void **state)
{
    (void)state;
    run_ok(rolls_back_then_commits);
    assert_int_equal(refresh_count(&report.counts, RUN_ACCEPTED), 0);
    assert_int_equal(refresh_count(&report.counts, RUN_BAD_LINES), 7);
    assert_int_equal(report.state, RUN_PARTIAL);
}

static enum err fails_twice(struct run *run)
{
    enum err err = apply_views(run, 1200);
    assert_int_equal(err, OK);
    (void)run_fail(run, ERR_IO, "the %s is down", "API");
    return run_fail(run, ERR_FULL, "second error");
}

static void failing_source_does_not_stop_the_others(void **state)
{
    (void)state;
    const struct source bad = {.kind = SOURCE_SPOOL, .run = fails_twice};
    const struct source good = {.kind = SOURCE_SIMULATED, .run = reads_5000_views};
    const struct refresh_options options = {.rules = step_rules_from_config(&config),
                                            .config = &config,
                                            .sources = {{&bad, &good}},
                                            .cause = CAUSE_COMMAND};
    assert_int_equal(refresh_run(&options, &report), OK);
    assert_int_equal(report.state, RUN_FAILED);
    assert_string_equal(report.why, "the API is down");
    assert_int_equal(views_now(), 5000);
    assert_int_equal(report.counts.n[SOURCE_SPOOL][PLATFORM_YOUTUBE][RUN_ACCEPTED], 1);
    assert_int_equal(report.counts.n[SOURCE_SIMULATED][PLATFORM_YOUTUBE][RUN_ACCEPTED], 1);
    assert_true(lease_is_free());
    assert_true(report.source_failed[SOURCE_SPOOL] && !report.source_failed[SOURCE_SIMULATED]);
    assert_int_equal(sql("SELECT error = 'the API is down' FROM refresh_runs WHERE outcome = 2"), 1);
}

static enum err fails_with_long_name(struct run *run)
{
    char name[301];
    for (size_t i = 0; i + 3 < sizeof name; i += 3)
        memcpy(name + i, "\xE5\xAD\x97", 4);
    return run_fail(run, ERR_IO, "spool: \xFF%s was applied but cannot be moved", name);
}

static enum err fails_with_longest_name(struct run *run)
{
    return run_fail(run, ERR_IO, "%0254d\xE5\xAD\x97", 0);
}

static void cause_of_a_failure_is_valid_utf8(void **state)
{
    (void)state;
    run_ok(fails_with_long_name);
    assert_true(str_is_utf8(str_from_cstr(report.why)));
    assert_memory_equal(report.why, "spool: \xEF\xBF\xBD\xE5\xAD\x97", 13);
    assert_int_equal(strlen(report.why), 7 + 3 + 3 * 81);
    run_ok(fails_with_longest_name);
    assert_int_equal(strlen(report.why), 254);
}

static enum err reads_5000_steps(struct run *run)
{
    enum err err = OK;
    for (int i = 0; i < 5000 && !err; i++) {
        const struct reading reading = views(post_row, PLATFORM_YOUTUBE, i);
        err = run_queue_step(run, NOW - 10000 + i, &reading, 1);
        if (i == 1999 && !err)
            assert_int_equal(views_now(), 1999); /* applied before the end */
    }
    return err ? err : run_flush(run);
}

static void steps_are_applied_in_bounded_transactions(void **state)
{
    (void)state;
    run_ok(reads_5000_steps);
    assert_int_equal(report.state, RUN_SUCCEEDED);
    assert_int_equal(report.counts.n[SOURCE_SIMULATED][PLATFORM_YOUTUBE][RUN_ACCEPTED], 5000);
    assert_int_equal(views_now(), 4999);
}

static void insert_runs(enum run_cause cause, int count)
{
    struct run_row run = {.cause = cause, .holder = STR("h"), .started_at = NOW};
    test_begin(&t.db);
    for (int i = 0; i < count; i++)
        assert_int_equal(store_insert_run(t.db.w, &run), OK);
    test_commit(&t.db);
}

static void old_run_records_are_pruned(void **state)
{
    (void)state;
    run_ok(reads_good_and_rejected);
    run_ok(reads_nothing);
    insert_runs(CAUSE_COMMAND, 9998);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 10000);
    run_ok(reads_nothing);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 10000);
    assert_int_equal(sql("SELECT min(id) FROM refresh_runs"), 2);
    assert_int_equal(sql("SELECT count(*) FROM refresh_counts"), 0);
}

/* Without the record of the last complete run, the next scheduled run would start at once and use up quotas
 * again. */
static void last_complete_run_is_never_pruned(void **state)
{
    (void)state;
    assert_int_equal(run_as(reads_nothing, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
    insert_runs(CAUSE_SPOOL, 11000);
    assert_int_equal(run_as(reads_nothing, CAUSE_SPOOL, &report), OK);
    assert_true(report.ran);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 10001);
    assert_int_equal(run_as(reads_5000_views, CAUSE_SCHEDULE, &report), OK);
    assert_false(report.ran);
}

/* --- the lease --- */

static enum err renews_while_another_tries(struct run *run)
{
    for (int i = 0; i < 20; i++) {
        test_clock_ms[0] += 9 * SECOND_MS;
        assert_int_equal(run_heartbeat(run), OK);
        assert_int_equal(run_as(reads_5000_views, CAUSE_COMMAND, &inner), ERR_BUSY);
        assert_false(inner.ran);
        assert_non_null(strstr(inner.why, "another refresh is running ("));
    }
    return apply_views(run, 1200);
}

static void lease_is_renewed_during_the_run(void **state)
{
    (void)state;
    run_ok(renews_while_another_tries);
    assert_int_equal(report.state, RUN_SUCCEEDED);
    assert_int_equal(views_now(), 1200);
    run_ok(reads_5000_views);
    assert_int_equal(views_now(), 5000);
}

static void lock_while_the_lease_is_read_is_not_reported_as_another_refresh(void **state)
{
    (void)state;
    lease_is_locked = true;
    assert_int_equal(run_as(reads_5000_views, CAUSE_COMMAND, &report), ERR_TIMEOUT);
    assert_string_equal(report.why, "database error: busy");
}

static enum err is_suspended_too_long(struct run *run)
{
    assert_int_equal(apply_views(run, 1200), OK);
    test_clock_ms[0] += 31 * SECOND_MS;
    assert_int_equal(run_as(reads_5000_views, CAUSE_COMMAND, &inner), OK);
    assert_int_equal(state_of_run(1), RUN_ABANDONED);
    assert_int_equal(apply_views(run, 9999), ERR_CANCELED);
    assert_int_equal(run_begin(run), ERR_CANCELED);
    return run_heartbeat(run);
}

static void run_that_lost_its_lease_writes_nothing(void **state)
{
    (void)state;
    run_ok(is_suspended_too_long);
    assert_int_equal(report.state, RUN_ABANDONED);
    assert_int_equal(inner.state, RUN_SUCCEEDED);
    assert_int_equal(views_now(), 5000);
    assert_int_equal(state_of_run(1), RUN_ABANDONED);
    assert_int_equal(state_of_run(2), RUN_SUCCEEDED);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs WHERE finished_at IS NULL"), 1);
    assert_true(lease_is_free());
}

static enum err renews_late(struct run *run)
{
    test_clock_ms[0] += 31 * SECOND_MS;
    assert_int_equal(apply_views(run, 1200), OK);
    assert_int_equal(run_as(reads_5000_views, CAUSE_COMMAND, &inner), ERR_BUSY); /* the lease was renewed */
    return OK;
}

static void expired_lease_can_be_renewed_if_not_taken_over(void **state)
{
    (void)state;
    run_ok(renews_late);
    assert_int_equal(report.state, RUN_SUCCEEDED);
    assert_int_equal(views_now(), 1200);
}

static enum err rolls_back_a_renewal(struct run *run)
{
    test_clock_ms[0] += 11 * SECOND_MS;
    assert_int_equal(run_begin(run), OK); /* renews the lease */
    run_rollback(run);                    /* undoes the renewal */
    test_clock_ms[0] += 9 * SECOND_MS;
    assert_int_equal(run_heartbeat(run), OK);
    test_clock_ms[0] += 11 * SECOND_MS; /* 31 s after it was acquired */
    assert_int_equal(run_as(reads_5000_views, CAUSE_COMMAND, &inner), ERR_BUSY);
    return OK;
}

static void lease_renewal_that_was_rolled_back_is_repeated(void **state)
{
    (void)state;
    run_ok(rolls_back_a_renewal);
    assert_int_equal(report.state, RUN_SUCCEEDED);
}

static enum err commits_after_29_seconds(struct run *run)
{
    assert_int_equal(run_begin(run), OK);
    test_clock_ms[0] += 29 * SECOND_MS;
    assert_int_equal(run_commit(run), OK);
    test_clock_ms[0] += 29 * SECOND_MS;
    assert_int_equal(run_as(reads_5000_views, CAUSE_COMMAND, &inner), ERR_BUSY);
    return OK;
}

static void long_transaction_keeps_the_lease(void **state)
{
    (void)state;
    run_ok(commits_after_29_seconds);
    assert_int_equal(report.state, RUN_SUCCEEDED);
}

static enum err is_killed(struct run *run)
{
    assert_int_equal(apply_views(run, 1200), OK);
    assert_int_equal(run_begin(run), OK);
    _exit(9);
}

static void kill_a_run(void)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)run_as(is_killed, CAUSE_SCHEDULE, &report);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 9);
}

static void lease_of_killed_run_expires_after_30_seconds(void **state)
{
    (void)state;
    kill_a_run();
    assert_int_equal(views_now(), 1200);
    test_clock_ms[0] += LEASE_MS - 1;
    assert_int_equal(run_as(reads_5000_views, CAUSE_SCHEDULE, &inner), ERR_BUSY);
    test_clock_ms[0] += 1;
    assert_int_equal(run_as(reads_5000_views, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran); /* the killed run does not count as the run of its slot */
    assert_int_equal(state_of_run(1), RUN_ABANDONED);
    assert_int_equal(views_now(), 5000);
}

static void lease_whose_expiry_is_years_ahead_is_ignored(void **state)
{
    (void)state;
    test_clock_ms[0] = NOW + 3652 * DAY_MS;
    kill_a_run();
    test_clock_ms[0] = NOW;
    assert_int_equal(run_as(reads_5000_views, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
    assert_int_equal(state_of_run(1), RUN_ABANDONED);
}

static enum err clock_is_set_back(struct run *run)
{
    test_clock_ms[0] -= HOUR_MS;
    assert_int_equal(run_heartbeat(run), OK);
    /* A lease that expires in more than 30 s counts as not held, so it must have been renewed. */
    assert_int_equal(run_as(reads_5000_views, CAUSE_COMMAND, &inner), ERR_BUSY);
    return OK;
}

static void lease_is_renewed_when_the_clock_is_set_back(void **state)
{
    (void)state;
    run_ok(clock_is_set_back);
    assert_int_equal(report.state, RUN_SUCCEEDED);
}

static void scheduled_run_starts_once_per_hour(void **state)
{
    (void)state;
    assert_int_equal(run_as(reads_nothing, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
    assert_int_equal(run_as(reads_5000_views, CAUSE_SCHEDULE, &report), OK);
    assert_false(report.ran);
    assert_true(lease_is_free());
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 1);
    test_clock_ms[0] += HOUR_MS;
    assert_int_equal(run_as(fails_twice, CAUSE_SCHEDULE, &report), OK);
    assert_int_equal(report.state, RUN_FAILED);
    /* Neither a failed run nor a run for the spool counts as the run of its hour. */
    assert_int_equal(run_as(reads_nothing, CAUSE_SPOOL, &report), OK);
    assert_true(report.ran);
    assert_int_equal(run_as(reads_nothing, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
    /* A run that a command has started counts. */
    test_clock_ms[0] += HOUR_MS;
    run_ok(reads_nothing);
    assert_int_equal(run_as(reads_5000_views, CAUSE_SCHEDULE, &report), OK);
    assert_false(report.ran);
}

static bool no_work(const struct config *c)
{
    (void)c;
    return false;
}

static void run_for_an_empty_spool_writes_nothing(void **state)
{
    (void)state;
    const struct source empty = {.kind = SOURCE_SPOOL, .has_work = no_work, .run = reads_5000_views};
    assert_int_equal(run_with(&empty, CAUSE_SPOOL, &report), OK);
    assert_false(report.ran);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 0);
    assert_int_equal(sql("SELECT fence FROM refresh_lease"), 0);
    assert_int_equal(run_with(&empty, CAUSE_COMMAND, &report), OK);
    assert_true(report.ran);
}

/* --- live videos --- */

static bool count_video(void *ctx, const struct video *video)
{
    assert_int_equal(video->post_count, 1);
    ++*(int *)ctx;
    return true;
}

static int live_at(int64_t now)
{
    int64_t author = 0, live, stale;
    int count = 0;
    assert_int_equal(store_find_next_author(t.db.w, 0, &author), OK);
    assert_int_equal(store_list_live_videos(t.db.w, author, now - 30 * DAY_MS, now, count_video, &count), OK);
    assert_int_equal(store_count_live_videos(t.db.w, author, now - 30 * DAY_MS, now, now, &live, &stale), OK);
    assert_int_equal(live, count);
    assert_int_equal(store_find_next_author(t.db.w, author, &author), ERR_NOT_FOUND);
    return count;
}

static void video_is_live_for_30_days(void **state)
{
    (void)state;
    assert_int_equal(live_at(TEST_DAY - 1), 0);
    assert_int_equal(live_at(TEST_DAY), 2);
    assert_int_equal(live_at(TEST_DAY + 30 * DAY_MS), 2);
    assert_int_equal(live_at(TEST_DAY + 30 * DAY_MS + 1), 0);
}

/* --- stopping --- */

static enum err is_stopped_in_a_transaction(struct run *run)
{
    assert_int_equal(apply_views(run, 1200), OK);
    assert_int_equal(run_begin(run), OK);
    atomic_store(&stop, true);
    run_count(run, RUN_NO_PLATFORM, RUN_VIDEOS, 10);
    assert_int_equal(run_commit(run), OK); /* the open transaction commits */
    assert_int_equal(run_heartbeat(run), ERR_CANCELED);
    return apply_views(run, 5000);
}

static void stopped_run_ends_after_its_transaction(void **state)
{
    (void)state;
    run_ok(is_stopped_in_a_transaction);
    assert_int_equal(report.state, RUN_STOPPED);
    assert_int_equal(views_now(), 1200);
    assert_int_equal(refresh_count(&report.counts, RUN_VIDEOS), 11);
    assert_true(lease_is_free());
    atomic_store(&stop, false);
    assert_int_equal(run_as(reads_5000_views, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
}

#define REFRESH_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REFRESH_TEST(run_applies_readings_and_is_recorded),
        REFRESH_TEST(results_counted_in_rolled_back_transactions_are_discarded),
        REFRESH_TEST(failing_source_does_not_stop_the_others),
        REFRESH_TEST(cause_of_a_failure_is_valid_utf8),
        REFRESH_TEST(steps_are_applied_in_bounded_transactions),
        REFRESH_TEST(old_run_records_are_pruned),
        REFRESH_TEST(last_complete_run_is_never_pruned),
        REFRESH_TEST(lease_is_renewed_during_the_run),
        REFRESH_TEST(lock_while_the_lease_is_read_is_not_reported_as_another_refresh),
        REFRESH_TEST(run_that_lost_its_lease_writes_nothing),
        REFRESH_TEST(expired_lease_can_be_renewed_if_not_taken_over),
        REFRESH_TEST(lease_renewal_that_was_rolled_back_is_repeated),
        REFRESH_TEST(long_transaction_keeps_the_lease),
        REFRESH_TEST(lease_of_killed_run_expires_after_30_seconds),
        REFRESH_TEST(lease_whose_expiry_is_years_ahead_is_ignored),
        REFRESH_TEST(lease_is_renewed_when_the_clock_is_set_back),
        REFRESH_TEST(scheduled_run_starts_once_per_hour),
        REFRESH_TEST(run_for_an_empty_spool_writes_nothing),
        REFRESH_TEST(video_is_live_for_30_days),
        REFRESH_TEST(stopped_run_ends_after_its_transaction),
    };
    return cmocka_run_group_tests(tests, refreshing_map_clock, NULL);
}

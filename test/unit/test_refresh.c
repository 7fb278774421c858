/* Runs of the refresh with sources of the test's own: what they apply and count, who may run, and what a
 * process that was killed, that slept or that was told to stop leaves behind. The clock is the test's. */
#include "refresh/refresh.h"

#include "base/clock.h"
#include "lib/dump.h"
#include "lib/refreshing.h"
#include "refresh/lease.h"

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
static int64_t post_row; /* the video of "y1" */
static atomic_bool stop;

#define WORLD                                                                                                \
    AUTHOR(A1, NAME("Ann"))                                                                                  \
    VIDEO(V1, A1, POSTS(POST("youtube", "y1", "2026-07-01T00:00:00Z")))                                      \
    VIDEO(V2, A1, POSTS(POST("tiktok", "k2", "2026-07-01T00:00:00Z")))

static int set_up(void **state)
{
    (void)state;
    importing_init(&t);
    import_text(&t, WORLD);
    post_row = query_i64(t.db.path, "SELECT video_id FROM post_keys WHERE post_id = 'y1'");
    config_init(&config);
    free(config.store.path);
    config.store.path = strdup(t.db.path);
    the_clock[0] = NOW;
    atomic_store(&stop, false);
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

/* --- short ways --- */

static struct refresh_report report, inner;

static enum err run_with(const struct source *source, enum run_cause cause, struct refresh_report *to)
{
    static const struct slot_rule hourly = {.period_ms = HOUR_MS, .offset_ms = 55 * MINUTE_MS};
    const struct refresh_options options = {.rules = step_rules_configured(&config),
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

static void run_well(enum err (*fn)(struct run *run))
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

static enum err step_of(struct run *run, int64_t n)
{
    const struct reading reading = views(post_row, PLATFORM_YOUTUBE, n);
    enum err err = run_queue_step(run, clock_wall_ms(), &reading, 1);
    return err ? err : run_flush(run);
}

static enum err brings_nothing(struct run *run)
{
    return run_heartbeat(run);
}

static enum err brings_5000(struct run *run)
{
    return step_of(run, 5000);
}

static int64_t views_now(void)
{
    return sql("SELECT sum(views) FROM videos");
}

static bool lease_is_free(void)
{
    return sql("SELECT holder = '' FROM refresh_lease") != 0;
}

static int64_t outcome_of_run(int n)
{
    char query[96];
    (void)snprintf(query, sizeof query, "SELECT ifnull(outcome, -1) FROM refresh_runs WHERE id = %d", n);
    return sql(query);
}

/* --- what a run does --- */

static enum err brings_good_and_bad(struct run *run)
{
    const struct reading readings[] = {views(post_row, PLATFORM_YOUTUBE, 1500),
                                       views(post_row, PLATFORM_PINTEREST, 1),
                                       views(post_row + 1, PLATFORM_TIKTOK, 20000)};
    assert_int_equal(run_observed_at(run), NOW);
    assert_ptr_equal(run_config(run), &config);
    enum err err = run_queue_step(run, NOW, readings, 3);
    assert_int_equal(views_now(), 0); /* gathered only */
    return err ? err : run_flush(run);
}

static void a_run_applies_counts_and_is_recorded(void **state)
{
    (void)state;
    run_well(brings_good_and_bad);
    assert_int_equal(report.outcome, RUN_PARTIAL);
    assert_int_equal(views_now(), 21500);
    const int64_t(*n)[RUN_COUNTERS] = report.counts.n[SOURCE_SIMULATED];
    assert_int_equal(n[PLATFORM_YOUTUBE][RUN_ACCEPTED], 1);
    assert_int_equal(n[PLATFORM_TIKTOK][RUN_ACCEPTED], 1);
    assert_int_equal(n[PLATFORM_PINTEREST][RUN_REFUSED + REJECTION_UNKNOWN_POST], 1);
    assert_int_equal(n[PLATFORM_COUNT][RUN_VIDEOS], 2);
    assert_int_equal(n[PLATFORM_COUNT][RUN_VIRAL_EVENTS], 1);
    assert_int_equal(n[PLATFORM_COUNT][RUN_MILESTONE_EVENTS], 3);
    assert_int_equal(refresh_count_refused(&report.counts), 1);
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

static enum err changes_its_mind(struct run *run)
{
    assert_int_equal(run_begin(run), OK);
    run_count(run, PLATFORM_TIKTOK, RUN_ACCEPTED, 5);
    run_rollback(run);
    assert_int_equal(run_begin(run), OK);
    run_count(run, RUN_NO_PLATFORM, RUN_BAD_LINES, 7);
    return run_commit(run);
}

static void what_is_rolled_back_is_not_counted(void **state)
{
    (void)state;
    run_well(changes_its_mind);
    assert_int_equal(refresh_count(&report.counts, RUN_ACCEPTED), 0);
    assert_int_equal(refresh_count(&report.counts, RUN_BAD_LINES), 7);
    assert_int_equal(report.outcome, RUN_PARTIAL);
}

static enum err breaks_down(struct run *run)
{
    enum err err = step_of(run, 1200);
    assert_int_equal(err, OK);
    (void)run_fail(run, ERR_IO, "the %s is gone", "well");
    return run_fail(run, ERR_FULL, "and more");
}

static void a_source_that_fails_keeps_no_other_from_being_asked(void **state)
{
    (void)state;
    const struct source bad = {.kind = SOURCE_SPOOL, .run = breaks_down};
    const struct source good = {.kind = SOURCE_SIMULATED, .run = brings_5000};
    const struct refresh_options options = {.rules = step_rules_configured(&config),
                                            .config = &config,
                                            .sources = {{&bad, &good}},
                                            .cause = CAUSE_COMMAND};
    assert_int_equal(refresh_run(&options, &report), OK);
    assert_int_equal(report.outcome, RUN_FAILED);
    assert_string_equal(report.why, "the well is gone");
    assert_int_equal(views_now(), 5000);
    assert_int_equal(report.counts.n[SOURCE_SPOOL][PLATFORM_YOUTUBE][RUN_ACCEPTED], 1);
    assert_int_equal(report.counts.n[SOURCE_SIMULATED][PLATFORM_YOUTUBE][RUN_ACCEPTED], 1);
    assert_true(lease_is_free());
    assert_true(report.source_failed[SOURCE_SPOOL] && !report.source_failed[SOURCE_SIMULATED]);
    assert_int_equal(sql("SELECT error = 'the well is gone' FROM refresh_runs WHERE outcome = 2"), 1);
}

static enum err brings_many(struct run *run)
{
    enum err err = OK;
    for (int i = 0; i < 5000 && !err; i++) {
        const struct reading reading = views(post_row, PLATFORM_YOUTUBE, i);
        err = run_queue_step(run, NOW - 10000 + i, &reading, 1);
        if (i == 1999 && !err)
            assert_int_equal(views_now(), 1999); /* does not wait for the end */
    }
    return err ? err : run_flush(run);
}

static void steps_are_applied_in_bounded_transactions(void **state)
{
    (void)state;
    run_well(brings_many);
    assert_int_equal(report.outcome, RUN_SUCCEEDED);
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

static void only_the_newest_runs_are_kept(void **state)
{
    (void)state;
    run_well(brings_good_and_bad);
    run_well(brings_nothing);
    insert_runs(CAUSE_COMMAND, 9998);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 10000);
    run_well(brings_nothing);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 10000);
    assert_int_equal(sql("SELECT min(id) FROM refresh_runs"), 2);
    assert_int_equal(sql("SELECT count(*) FROM refresh_counts"), 0);
}

/* Without its record the next scheduled run would start at once and spend the platforms' quotas again. */
static void the_last_complete_run_is_kept_however_many_spool_runs_follow(void **state)
{
    (void)state;
    assert_int_equal(run_as(brings_nothing, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
    insert_runs(CAUSE_SPOOL, 11000);
    assert_int_equal(run_as(brings_nothing, CAUSE_SPOOL, &report), OK);
    assert_true(report.ran);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 10001);
    assert_int_equal(run_as(brings_5000, CAUSE_SCHEDULE, &report), OK);
    assert_false(report.ran);
}

/* --- who may run --- */

static enum err is_not_alone(struct run *run)
{
    for (int i = 0; i < 20; i++) {
        the_clock[0] += 9 * SECOND_MS;
        assert_int_equal(run_heartbeat(run), OK);
        assert_int_equal(run_as(brings_5000, CAUSE_COMMAND, &inner), ERR_BUSY);
        assert_false(inner.ran);
        assert_non_null(strstr(inner.why, "another refresh is running ("));
    }
    return step_of(run, 1200);
}

static void a_lease_is_kept_for_as_long_as_the_run_is(void **state)
{
    (void)state;
    run_well(is_not_alone);
    assert_int_equal(report.outcome, RUN_SUCCEEDED);
    assert_int_equal(views_now(), 1200);
    run_well(brings_5000);
    assert_int_equal(views_now(), 5000);
}

static enum err sleeps_too_long(struct run *run)
{
    assert_int_equal(step_of(run, 1200), OK);
    the_clock[0] += 31 * SECOND_MS;
    assert_int_equal(run_as(brings_5000, CAUSE_COMMAND, &inner), OK);
    assert_int_equal(outcome_of_run(1), RUN_ABANDONED);
    assert_int_equal(step_of(run, 9999), ERR_CANCELED);
    assert_int_equal(run_begin(run), ERR_CANCELED);
    return run_heartbeat(run);
}

static void who_slept_writes_nothing_more(void **state)
{
    (void)state;
    run_well(sleeps_too_long);
    assert_int_equal(report.outcome, RUN_ABANDONED);
    assert_int_equal(inner.outcome, RUN_SUCCEEDED);
    assert_int_equal(views_now(), 5000);
    assert_int_equal(outcome_of_run(1), RUN_ABANDONED);
    assert_int_equal(outcome_of_run(2), RUN_SUCCEEDED);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs WHERE finished_at IS NULL"), 1);
    assert_true(lease_is_free());
}

static enum err is_late(struct run *run)
{
    the_clock[0] += 31 * SECOND_MS;
    assert_int_equal(step_of(run, 1200), OK);
    assert_int_equal(run_as(brings_5000, CAUSE_COMMAND, &inner), ERR_BUSY); /* renewed */
    return OK;
}

static void a_late_lease_that_nobody_took_is_still_held(void **state)
{
    (void)state;
    run_well(is_late);
    assert_int_equal(report.outcome, RUN_SUCCEEDED);
    assert_int_equal(views_now(), 1200);
}

static enum err renews_in_vain(struct run *run)
{
    the_clock[0] += 11 * SECOND_MS;
    assert_int_equal(run_begin(run), OK); /* renewed in here, */
    run_rollback(run);                    /* and not */
    the_clock[0] += 9 * SECOND_MS;
    assert_int_equal(run_heartbeat(run), OK);
    the_clock[0] += 11 * SECOND_MS; /* 31 s after it was taken */
    assert_int_equal(run_as(brings_5000, CAUSE_COMMAND, &inner), ERR_BUSY);
    return OK;
}

static void a_renewal_that_was_rolled_back_is_made_up_for(void **state)
{
    (void)state;
    run_well(renews_in_vain);
    assert_int_equal(report.outcome, RUN_SUCCEEDED);
}

static enum err takes_its_time(struct run *run)
{
    assert_int_equal(run_begin(run), OK);
    the_clock[0] += 29 * SECOND_MS;
    assert_int_equal(run_commit(run), OK);
    the_clock[0] += 29 * SECOND_MS;
    assert_int_equal(run_as(brings_5000, CAUSE_COMMAND, &inner), ERR_BUSY);
    return OK;
}

static void a_long_transaction_does_not_lose_the_lease(void **state)
{
    (void)state;
    run_well(takes_its_time);
    assert_int_equal(report.outcome, RUN_SUCCEEDED);
}

static enum err is_killed(struct run *run)
{
    assert_int_equal(step_of(run, 1200), OK);
    assert_int_equal(run_begin(run), OK);
    _exit(9);
}

static void kill_one(void)
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

static void a_dead_holder_is_followed_after_thirty_seconds(void **state)
{
    (void)state;
    kill_one();
    assert_int_equal(views_now(), 1200);
    the_clock[0] += LEASE_MS - 1;
    assert_int_equal(run_as(brings_5000, CAUSE_SCHEDULE, &inner), ERR_BUSY);
    the_clock[0] += 1;
    assert_int_equal(run_as(brings_5000, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran); /* the killed one counts for nothing */
    assert_int_equal(outcome_of_run(1), RUN_ABANDONED);
    assert_int_equal(views_now(), 5000);
}

static void a_lease_of_a_clock_that_was_wrong_holds_nobody_up(void **state)
{
    (void)state;
    the_clock[0] = NOW + 3652 * DAY_MS;
    kill_one();
    the_clock[0] = NOW;
    assert_int_equal(run_as(brings_5000, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
    assert_int_equal(outcome_of_run(1), RUN_ABANDONED);
}

static enum err clock_is_set_back(struct run *run)
{
    the_clock[0] -= HOUR_MS;
    assert_int_equal(run_heartbeat(run), OK);
    /* A lease that ends in more than 30 s is not held by anyone: it had to be renewed. */
    assert_int_equal(run_as(brings_5000, CAUSE_COMMAND, &inner), ERR_BUSY);
    return OK;
}

static void lease_is_renewed_when_the_clock_is_set_back(void **state)
{
    (void)state;
    run_well(clock_is_set_back);
    assert_int_equal(report.outcome, RUN_SUCCEEDED);
}

static void the_schedule_runs_once_in_an_hour(void **state)
{
    (void)state;
    assert_int_equal(run_as(brings_nothing, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
    assert_int_equal(run_as(brings_5000, CAUSE_SCHEDULE, &report), OK);
    assert_false(report.ran);
    assert_true(lease_is_free());
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 1);
    the_clock[0] += HOUR_MS;
    assert_int_equal(run_as(breaks_down, CAUSE_SCHEDULE, &report), OK);
    assert_int_equal(report.outcome, RUN_FAILED);
    /* One that failed is no run of its hour, nor is one of the spool alone. */
    assert_int_equal(run_as(brings_nothing, CAUSE_SPOOL, &report), OK);
    assert_true(report.ran);
    assert_int_equal(run_as(brings_nothing, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
    /* But one that a command asked for is. */
    the_clock[0] += HOUR_MS;
    run_well(brings_nothing);
    assert_int_equal(run_as(brings_5000, CAUSE_SCHEDULE, &report), OK);
    assert_false(report.ran);
}

static bool no_work(const struct config *c)
{
    (void)c;
    return false;
}

static void a_spool_without_a_file_leaves_no_trace(void **state)
{
    (void)state;
    const struct source empty = {.kind = SOURCE_SPOOL, .has_work = no_work, .run = brings_5000};
    assert_int_equal(run_with(&empty, CAUSE_SPOOL, &report), OK);
    assert_false(report.ran);
    assert_int_equal(sql("SELECT count(*) FROM refresh_runs"), 0);
    assert_int_equal(sql("SELECT fence FROM refresh_lease"), 0);
    assert_int_equal(run_with(&empty, CAUSE_COMMAND, &report), OK);
    assert_true(report.ran);
}

/* --- what is asked for --- */

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
    assert_int_equal(store_next_author(t.db.w, 0, &author), OK);
    assert_int_equal(store_list_live(t.db.w, author, now - 30 * DAY_MS, now, count_video, &count), OK);
    assert_int_equal(store_count_live(t.db.w, author, now - 30 * DAY_MS, now, now, &live, &stale), OK);
    assert_int_equal(live, count);
    assert_int_equal(store_next_author(t.db.w, author, &author), ERR_NOT_FOUND);
    return count;
}

static void a_video_is_asked_for_until_it_is_final(void **state)
{
    (void)state;
    assert_int_equal(live_at(TEST_DAY - 1), 0);
    assert_int_equal(live_at(TEST_DAY), 2);
    assert_int_equal(live_at(TEST_DAY + 30 * DAY_MS), 2);
    assert_int_equal(live_at(TEST_DAY + 30 * DAY_MS + 1), 0);
}

/* --- stopping --- */

static enum err is_told_to_stop(struct run *run)
{
    assert_int_equal(step_of(run, 1200), OK);
    assert_int_equal(run_begin(run), OK);
    atomic_store(&stop, true);
    run_count(run, RUN_NO_PLATFORM, RUN_VIDEOS, 10);
    assert_int_equal(run_commit(run), OK); /* what is open is finished */
    assert_int_equal(run_heartbeat(run), ERR_CANCELED);
    return step_of(run, 5000);
}

static void a_run_that_is_stopped_ends_after_its_transaction(void **state)
{
    (void)state;
    run_well(is_told_to_stop);
    assert_int_equal(report.outcome, RUN_STOPPED);
    assert_int_equal(views_now(), 1200);
    assert_int_equal(refresh_count(&report.counts, RUN_VIDEOS), 11);
    assert_true(lease_is_free());
    atomic_store(&stop, false);
    assert_int_equal(run_as(brings_5000, CAUSE_SCHEDULE, &report), OK);
    assert_true(report.ran);
}

#define REFRESH_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REFRESH_TEST(a_run_applies_counts_and_is_recorded),
        REFRESH_TEST(what_is_rolled_back_is_not_counted),
        REFRESH_TEST(a_source_that_fails_keeps_no_other_from_being_asked),
        REFRESH_TEST(steps_are_applied_in_bounded_transactions),
        REFRESH_TEST(only_the_newest_runs_are_kept),
        REFRESH_TEST(the_last_complete_run_is_kept_however_many_spool_runs_follow),
        REFRESH_TEST(a_lease_is_kept_for_as_long_as_the_run_is),
        REFRESH_TEST(who_slept_writes_nothing_more),
        REFRESH_TEST(a_late_lease_that_nobody_took_is_still_held),
        REFRESH_TEST(a_renewal_that_was_rolled_back_is_made_up_for),
        REFRESH_TEST(a_long_transaction_does_not_lose_the_lease),
        REFRESH_TEST(a_dead_holder_is_followed_after_thirty_seconds),
        REFRESH_TEST(a_lease_of_a_clock_that_was_wrong_holds_nobody_up),
        REFRESH_TEST(lease_is_renewed_when_the_clock_is_set_back),
        REFRESH_TEST(the_schedule_runs_once_in_an_hour),
        REFRESH_TEST(a_spool_without_a_file_leaves_no_trace),
        REFRESH_TEST(a_video_is_asked_for_until_it_is_final),
        REFRESH_TEST(a_run_that_is_stopped_ends_after_its_transaction),
    };
    return cmocka_run_group_tests(tests, refreshing_map_clock, NULL);
}

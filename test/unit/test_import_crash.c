/* Tests imports that are killed at any instant, repeated, or run by two processes at the same time. The
 * result must equal the result of one uninterrupted import: it has every event once, in the same order. */
#include "lib/importing.h"

#include "base/clock.h"
#include "lib/dump.h"
#include "lib/random.h"
#include "store/import_lock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { AUTHORS = 12, VIDEOS = 9, HOURS = 90, POSTED_SPREAD_DAYS = 16 };

static const char *const platforms[] = {"youtube", "tiktok"};

static void append_time(struct buf *out, int64_t ms)
{
    char text[TIME_TEXT_LEN];
    time_format(ms, text);
    buf_append(out, str_make(text, sizeof text));
}

static void append_entities(struct buf *out, unsigned *seed)
{
    for (int a = 0; a < AUTHORS; a++)
        buf_printf(out, "{\"type\":\"author\",\"id\":\"aaaaaaaa-0000-4000-8000-%012d\",\"name\":\"A%d\"}\n",
                   a, a);
    for (int a = 0; a < AUTHORS; a++)
        for (int v = 0; v < VIDEOS; v++) {
            const int64_t posted =
                TEST_DAY - random_seeded(seed) % (POSTED_SPREAD_DAYS * 24) * (int64_t)HOUR_MS;
            buf_printf(out,
                       "{\"type\":\"video\",\"id\":\"cccccccc-0000-4000-8000-%06d%06d\",\"author_id\":"
                       "\"aaaaaaaa-0000-4000-8000-%012d\",\"posts\":[",
                       v, a, a);
            for (int p = 0; p < 2; p++) {
                buf_printf(out, "%s{\"platform\":\"%s\",\"post_id\":\"%s-%d-%d\",\"posted_at\":\"",
                           p ? "," : "", platforms[p], platforms[p], a, v);
                append_time(out, posted);
                buf_append(out, STR("\"}"));
            }
            buf_append(out, STR("]}\n"));
        }
}

/* Appends readings of about half of the authors for each hour. Some readings are missing, some are a
 * minute late, and some are baselines. */
static void append_readings(struct buf *out, unsigned *seed)
{
    for (int hour = 0; hour < HOURS; hour++)
        for (int a = hour % 2; a < AUTHORS; a += 1 + random_seeded(seed) % 3)
            for (int v = 0; v < VIDEOS; v++)
                for (int p = 0; p < 2; p++) {
                    if (random_seeded(seed) % 4 == 0)
                        continue;
                    int64_t at =
                        TEST_DAY + hour * (int64_t)HOUR_MS + (random_seeded(seed) % 9 == 0) * MINUTE_MS;
                    buf_printf(out,
                               "{\"type\":\"reading\",\"platform\":\"%s\",\"post_id\":\"%s-%d-%d\","
                               "\"observed_at\":\"",
                               platforms[p], platforms[p], a, v);
                    append_time(out, at);
                    buf_printf(out, "\",\"views\":%d,\"likes\":%d%s}\n",
                               random_seeded(seed) % (v ? (hour + 1) * (v * v * 20 + 30) : 40000),
                               random_seeded(seed) % 50,
                               v == 0 || random_seeded(seed) % (hour + 2) == 0 ? ",\"baseline\":true" : "");
                }
}

static const char *write_world(struct importing *t, unsigned seed)
{
    struct buf text;
    buf_init(&text, 1 << 26);
    append_entities(&text, &seed);
    append_readings(&text, &seed);
    const char *path = write_file(t, "world", buf_str(&text));
    buf_fini(&text);
    return path;
}

static void ignore_bad_line(void *ctx, const char *file, int64_t line, struct str reason)
{
    (void)ctx;
    (void)file;
    (void)line;
    (void)reason;
}

/* Kills this process at the n-th call of on_progress. */
static void die_at_progress(void *ctx, const struct import_progress *progress)
{
    int *calls_left = ctx;
    (void)progress;
    if (calls_left && --*calls_left <= 0)
        (void)kill(getpid(), SIGKILL);
}

/* Starts a process that imports the file and is killed after `after_us` microseconds or at the
 * `at_call`-th call of on_progress. If an argument is 0, the process is not killed for this reason. */
static pid_t start_import(const struct importing *t, const char *path, int after_us, int at_call)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    int calls_left = at_call;
    struct import_options options = t->options;
    struct import_summary summary;
    struct store *store;
    struct error error = {0};
    const struct store_options open = {.path = t->db.path, .mode = STORE_WRITE, .busy_timeout_ms = 60000};
    if (store_open(&store, &open, &error))
        _exit(3);
    options.files = &path;
    options.file_count = 1;
    options.ctx = at_call ? &calls_left : NULL;
    options.on_bad_line = ignore_bad_line;
    options.on_progress = die_at_progress;
    /* An uncaught SIGALRM ends the process as abruptly as SIGKILL. */
    const struct itimerval timer = {.it_value = {.tv_usec = after_us}};
    if (after_us)
        (void)setitimer(ITIMER_REAL, &timer, NULL);
    _exit(import_run(store, &options, &summary) ? 4 : 0);
}

/* Waits for the child. Returns false if it ended before it was killed. */
static bool was_killed(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status))
        assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

/* Runs an uninterrupted import. Appends the dump of its result to `dump` and returns its duration
 * in microseconds. */
static int run_uninterrupted(unsigned seed, struct buf *dump)
{
    struct importing t;
    importing_init(&t);
    const char *path = write_world(&t, seed);
    int64_t begun = clock_work_us();
    assert_false(was_killed(start_import(&t, path, 0, 0)));
    int took_us = (int)(clock_work_us() - begun);
    dump_database(t.db.path, dump);
    importing_fini(&t);
    return took_us;
}

static void finish_and_compare(struct importing *t, const char *path, const struct buf *expected)
{
    struct buf found;
    buf_init(&found, 1 << 26);
    import_files(t, path, NULL);
    assert_int_equal(t->err, OK);
    dump_database(t->db.path, &found);
    assert_same_dump(expected, &found);
    assert_int_equal(query_i64(t->db.path,
                               "SELECT count(*) FROM (SELECT 1 FROM events GROUP BY video_id, type, "
                               "iif(type = 0, 0, value) HAVING count(*) > 1)"),
                     0);
    buf_fini(&found);
}

/* The other tests prove little unless the data cause events of both types and comparisons between videos. */
static void sample_data_causes_both_types_of_events_and_comparisons(void **state)
{
    (void)state;
    struct importing t;
    importing_init(&t);
    import_files(&t, write_world(&t, 1), NULL);
    assert_int_equal(t.err, OK);
    assert_true(t.summary.readings > 6000);
    assert_true(t.summary.steps.viral_events > 5);
    assert_true(t.summary.steps.milestone_events > 100);
    assert_true(t.summary.finalized_viral > 0);
    assert_true(query_i64(t.db.path, "SELECT count(*) FROM videos WHERE author_median_views > 0") > 20);
    importing_fini(&t);
}

/* Kills the import at every second call of on_progress: between transactions and in the phases before them.
 */
static void next_import_completes_an_import_killed_between_transactions(void **state)
{
    (void)state;
    struct buf expected;
    buf_init(&expected, 1 << 26);
    (void)run_uninterrupted(2, &expected);
    for (int call = 1; call < 40; call += 2) {
        struct importing t;
        importing_init(&t);
        const char *path = write_world(&t, 2);
        bool killed = was_killed(start_import(&t, path, 0, call));
        finish_and_compare(&t, path, &expected);
        importing_fini(&t);
        if (!killed)
            break;
    }
    buf_fini(&expected);
}

/* Kills imports at random instants, up to four times on one database. */
static void next_import_completes_an_import_killed_at_any_instant(void **state)
{
    (void)state;
    unsigned random = 77;
    int killed = 0;
    for (unsigned seed = 10; seed < 12; seed++) {
        struct buf expected;
        buf_init(&expected, 1 << 26);
        int took_us = run_uninterrupted(seed, &expected);
        for (int round = 0; round < 8; round++) {
            struct importing t;
            importing_init(&t);
            const char *path = write_world(&t, seed);
            for (int times = 0; times <= round % 4; times++)
                killed += was_killed(start_import(&t, path, 1 + rand_r(&random) % took_us, 0));
            finish_and_compare(&t, path, &expected);
            importing_fini(&t);
        }
        buf_fini(&expected);
    }
    assert_true(killed > 5);
}

static void importing_twice_changes_nothing(void **state)
{
    (void)state;
    struct buf expected;
    struct importing t;
    buf_init(&expected, 1 << 26);
    (void)run_uninterrupted(3, &expected);
    importing_init(&t);
    const char *path = write_world(&t, 3);
    import_files(&t, path, NULL);
    finish_and_compare(&t, path, &expected);
    assert_int_equal(t.summary.steps.videos_changed, 0);
    importing_fini(&t);
    buf_fini(&expected);
}

static void two_concurrent_imports_give_the_same_result(void **state)
{
    (void)state;
    struct buf expected;
    buf_init(&expected, 1 << 26);
    (void)run_uninterrupted(4, &expected);
    for (int round = 0; round < 2; round++) {
        struct importing t;
        importing_init(&t);
        const char *path = write_world(&t, 4);
        pid_t one = start_import(&t, path, 0, 0), two = start_import(&t, path, 0, 0);
        assert_false(was_killed(one));
        assert_false(was_killed(two));
        finish_and_compare(&t, path, &expected);
        importing_fini(&t);
    }
    buf_fini(&expected);
}

/* While another import holds the shared import lock, neither an import nor finalizing_run_all() finalizes
 * baselines. After the other import has ended, finalizing_run_all() finalizes them. */
static void baselines_are_finalized_only_after_the_last_concurrent_import_has_ended(void **state)
{
    (void)state;
    struct buf expected, found;
    struct importing t;
    struct store *other;
    struct finalizing_result finalized;
    struct error error = {0};
    const char *waiting = "SELECT count(*) FROM videos WHERE baseline_pending = 1";
    buf_init(&expected, 1 << 26);
    buf_init(&found, 1 << 26);
    (void)run_uninterrupted(5, &expected);
    importing_init(&t);
    const struct store_options options = {.path = t.db.path, .mode = STORE_WRITE, .busy_timeout_ms = 1000};
    assert_int_equal(store_open(&other, &options, &error), OK);
    assert_int_equal(import_lock_share(other), OK);
    import_files(&t, write_world(&t, 5), NULL);
    assert_int_equal(t.err, OK);
    assert_true(t.summary.finalizing_left);
    assert_true(query_i64(t.db.path, waiting) > 0);
    assert_int_equal(finalizing_run_all(&options, &t.options.rules, &finalized, &error), OK);
    assert_int_equal(finalized.videos, 0);
    import_lock_release(other);
    assert_int_equal(finalizing_run_all(&options, &t.options.rules, &finalized, &error), OK);
    assert_true(finalized.videos > 0);
    assert_int_equal(query_i64(t.db.path, waiting), 0);
    store_close(other);
    dump_database(t.db.path, &found);
    assert_same_dump(&expected, &found);
    importing_fini(&t);
    buf_fini(&expected);
    buf_fini(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_data_causes_both_types_of_events_and_comparisons),
        cmocka_unit_test(next_import_completes_an_import_killed_between_transactions),
        cmocka_unit_test(next_import_completes_an_import_killed_at_any_instant),
        cmocka_unit_test(importing_twice_changes_nothing),
        cmocka_unit_test(two_concurrent_imports_give_the_same_result),
        cmocka_unit_test(baselines_are_finalized_only_after_the_last_concurrent_import_has_ended),
    };
    /* Uses /dev/shm if it exists, because syncing a disk is slow and is not under test. */
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

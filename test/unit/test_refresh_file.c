/* Tests importing a file in a run: the reported positions, the counters, and resuming after a position. */
#include "refresh/run.h"

#include "lib/refreshing.h"

#include "base/clock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static struct refreshing r;

#define WORLD AUTHOR(A1, NAME("Ann")) VIDEO(V1, A1, POSTS(POST("youtube", "y1", "2026-07-01T00:00:00Z")))

static int set_up(void **state)
{
    (void)state;
    refreshing_init(&r);
    import_text(&r.t, WORLD);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    refreshing_fini(&r);
    return 0;
}

#define AT(hour) "2026-07-02T" hour ":00:00Z"
#define THREE_HOURS                                                                                          \
    READING("youtube", "y1", AT("01"), VIEWS(100))                                                           \
    READING("youtube", "y1", AT("02"), VIEWS(200))                                                           \
    "nonsense\n" READING("youtube", "none", AT("02"), VIEWS(1)) READING("youtube", "y1", AT("03"), VIEWS(300))

static const char *file_path;
static struct import_position after, seen;
static bool has_after;
static int bad_lines, commits_with_steps, commits_before_steps;
static struct import_summary summary;

static void on_bad_line(void *ctx, int64_t line, struct str reason)
{
    assert_ptr_equal(ctx, &seen);
    assert_true(line == 3 || line == 4);
    assert_true(reason.len > 0);
    bad_lines++;
}

static enum err on_commit(void *ctx, struct store *store, const struct import_position *last)
{
    assert_non_null(store);
    if (last)
        *(struct import_position *)ctx = *last;
    commits_with_steps += last != NULL;
    commits_before_steps += last == NULL;
    return OK;
}

static enum err imports_file(struct run *run)
{
    const int fd = open(file_path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    const struct run_file file = {.path = file_path,
                                  .fd = fd,
                                  .after = has_after ? &after : NULL,
                                  .ctx = &seen,
                                  .on_bad_line = on_bad_line,
                                  .on_commit = on_commit};
    enum err err = run_import_file(run, &file, &summary);
    run_count_file(run, &summary);
    (void)close(fd);
    return err;
}

static const struct source file_source = {.kind = SOURCE_SIMULATED, .run = imports_file};

static void file_is_applied_and_positions_are_reported(void **state)
{
    (void)state;
    has_after = false;
    bad_lines = commits_with_steps = commits_before_steps = 0;
    file_path = write_file(&r.t, "f", STR(THREE_HOURS));
    refreshing_run(&r, &file_source);
    assert_int_equal(r.report.state, RUN_PARTIAL);
    assert_int_equal(refreshing_sql(&r, "SELECT sum(views) FROM videos"), 300);
    assert_int_equal(bad_lines, 2);
    const int64_t(*n)[RUN_COUNTERS] = r.report.counts.n[SOURCE_SIMULATED];
    assert_int_equal(n[PLATFORM_YOUTUBE][RUN_ACCEPTED], 3);
    assert_int_equal(n[PLATFORM_YOUTUBE][RUN_REJECTED + REJECTION_UNKNOWN_POST], 1);
    assert_int_equal(n[PLATFORM_COUNT][RUN_BAD_LINES], 1);
    assert_int_equal(n[PLATFORM_COUNT][RUN_VIDEOS], 3);
    assert_true(commits_with_steps > 0);
    assert_int_equal(seen.observed_at, TEST_DAY + DAY_MS + 3 * HOUR_MS);
}

static void import_resumes_after_a_position(void **state)
{
    (void)state;
    has_after = true;
    file_path = write_file(&r.t, "f", STR(THREE_HOURS));
    struct uuid ann;
    assert_true(uuid_parse(STR(A1), &ann));
    after = (struct import_position){.observed_at = TEST_DAY + DAY_MS + 2 * HOUR_MS, .author = ann};
    refreshing_run(&r, &file_source);
    /* Only the last reading is applied. */
    assert_int_equal(r.report.counts.n[SOURCE_SIMULATED][PLATFORM_YOUTUBE][RUN_ACCEPTED], 1);
    assert_int_equal(refreshing_sql(&r, "SELECT min(first_reading_at) FROM videos"),
                     TEST_DAY + DAY_MS + 3 * HOUR_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(file_is_applied_and_positions_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(import_resumes_after_a_position, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, refreshing_map_clock, NULL);
}

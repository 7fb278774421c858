/* Tests runs with the source `spool` that begin in a state that only a crash, a stop or a manipulated
 * directory causes. The linker replaces run_import_file(), so that a test can make a file unreadable. */
#include "refresh/spool.h"
#include "refresh/spool_import.h"

#include "base/clock.h"
#include "base/log.h"
#include "lib/capture.h"
#include "lib/refreshing.h"
#include "refresh/spool_dir.h"
#include "refresh/spool_finish.h"
#include "store/spool_records.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct refreshing r;
static struct spool_dir d;
static atomic_bool stop;
static const char *unreadable;    /* the name of a file that cannot be read; may be NULL */
static bool cancels_first_commit; /* the run is canceled in the first transaction of a file */
static bool stops_at_unreadable;  /* reading that file stops the run */

enum err __real_run_import_file(struct run *run, const struct run_file *file, struct import_summary *summary);
enum err __wrap_run_import_file(struct run *run, const struct run_file *file, struct import_summary *summary);

static enum err cancel(void *ctx, struct store *store, const struct import_position *last)
{
    (void)ctx;
    (void)store;
    (void)last;
    return ERR_CANCELED;
}

enum err __wrap_run_import_file(struct run *run, const struct run_file *file, struct import_summary *summary)
{
    struct run_file canceled = *file;
    canceled.on_commit = cancel;
    if (cancels_first_commit)
        return __real_run_import_file(run, &canceled, summary);
    if (!unreadable || strcmp(file->path, unreadable) != 0)
        return __real_run_import_file(run, file, summary);
    *summary = (struct import_summary){0};
    if (stops_at_unreadable)
        atomic_store(&stop, true);
    return run_fail(run, ERR_IO, "%s cannot be read", file->path);
}

#define WORLD                                                                                                \
    AUTHOR(A1, NAME("Ann"))                                                                                  \
    VIDEO(V1, A1, POSTS(POST("youtube", "y1", "2026-07-01T00:00:00Z")))

static int set_up(void **state)
{
    (void)state;
    struct buf why;
    buf_init(&why, 4096);
    refreshing_init(&r);
    import_text(&r.t, WORLD);
    const enum err err = spool_dir_open(&d, r.spool, &why);
    buf_fini(&why);
    return err;
}

static int tear_down(void **state)
{
    (void)state;
    atomic_store(&stop, false);
    unreadable = NULL;
    cancels_first_commit = stops_at_unreadable = false;
    spool_dir_close(&d);
    refreshing_fini(&r);
    return 0;
}

static void put(const char *name, struct str content)
{
    int fd = openat(d.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.p, content.len), content.len);
    assert_int_equal(close(fd), 0);
}

static bool exists(const char *name)
{
    return faccessat(d.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int64_t sql(const char *query)
{
    return refreshing_sql(&r, query);
}

static int64_t views(void)
{
    return sql("SELECT max(views) FROM videos");
}

static void assert_no_records(void)
{
    assert_int_equal(sql("SELECT count(*) FROM spool_files"), 0);
    assert_int_equal(sql("SELECT count(*) FROM spool_errors"), 0);
}

/* Inserts the database record of the spool file `name`, as a killed process leaves it. */
static void insert_record(const char *name, bool applied, int64_t step_at, const char *error)
{
    struct spool_file file = {.name = str_from_cstr(name), .applied_at = TIME_NONE, .step_at = step_at};
    struct arena arena;
    bool added;
    arena_init(&arena, 1024);
    assert_int_equal(spool_dir_identify(&d, file.name, &file.identity), OK);
    assert_true(uuid_parse(STR(A1), &file.step_author));
    file.applied_at = applied ? IMPORT_NOW : TIME_NONE;
    test_begin(&r.t.db);
    assert_int_equal(store_spool_insert(r.t.db.w, &arena, &file), OK);
    assert_int_equal(store_spool_save(r.t.db.w, &file), OK);
    if (error)
        assert_int_equal(store_spool_add_error(r.t.db.w, file.row, 7, str_from_cstr(error), &added), OK);
    test_commit(&r.t.db);
    arena_fini(&arena);
}

#define HOURS(from)                                                                                          \
    READING("youtube", "y1", "2026-07-02T0" from ":00:00Z", VIEWS(100))                                      \
    READING("youtube", "y1", "2026-07-03T00:00:00Z", VIEWS(200))

static void replace(const char *name, struct str content)
{
    put("other", content);
    assert_int_equal(renameat(d.fd, "other", d.fd, name), 0);
}

/* --- tests --- */

static void file_that_was_already_applied_is_only_moved(void **state)
{
    (void)state;
    put("f.ndjson", STR(HOURS("1")));
    insert_record("f.ndjson", true, TIME_NONE, NULL);
    refreshing_run(&r, &spool_source);
    assert_true(exists("done/f.ndjson") && !exists("f.ndjson"));
    assert_int_equal(views(), 0);
    assert_no_records();
}

static void new_file_with_the_name_of_an_applied_one_is_applied(void **state)
{
    (void)state;
    put("f.ndjson", STR("old\n"));
    insert_record("f.ndjson", true, TIME_NONE, NULL);
    replace("f.ndjson", STR(HOURS("1")));
    refreshing_run(&r, &spool_source);
    assert_true(exists("done/f.ndjson") && !exists("f.ndjson"));
    assert_int_equal(views(), 200);
    assert_no_records();
}

static void new_file_with_the_name_of_a_partly_applied_one_is_applied_from_the_start(void **state)
{
    (void)state;
    put("f.ndjson", STR("old\n"));
    insert_record("f.ndjson", false, TEST_DAY + 2 * DAY_MS, "error of the old file");
    replace("f.ndjson", STR(HOURS("1")));
    refreshing_run(&r, &spool_source);
    assert_true(exists("done/f.ndjson") && !exists("bad/f.ndjson.errors"));
    assert_int_equal(sql("SELECT min(first_reading_at) FROM videos"), TEST_DAY + DAY_MS + HOUR_MS);
    assert_no_records();
}

static void partly_applied_file_continues_after_its_last_step(void **state)
{
    (void)state;
    put("f.ndjson", STR(HOURS("1") AUTHOR(A1, NAME("Ann from the file"))));
    insert_record("f.ndjson", false, TEST_DAY + DAY_MS + HOUR_MS, NULL);
    refreshing_run(&r, &spool_source);
    assert_int_equal(sql("SELECT min(first_reading_at) FROM videos"), TEST_DAY + 2 * DAY_MS);
    /* Authors, books and videos are applied before the first step. */
    assert_int_equal(sql("SELECT count(*) FROM authors WHERE name = 'Ann'"), 1);
    assert_true(exists("done/f.ndjson"));
    assert_no_records();
}

static void resumed_file_applies_a_step_one_millisecond_after_the_stored_position(void **state)
{
    (void)state;
    put("f.ndjson", STR(READING("youtube", "y1", "2026-07-02T01:00:00.001Z", VIEWS(100))));
    insert_record("f.ndjson", false, TEST_DAY + DAY_MS + HOUR_MS, NULL);
    refreshing_run(&r, &spool_source);
    assert_int_equal(sql("SELECT min(first_reading_at) FROM videos"), TEST_DAY + DAY_MS + HOUR_MS + 1);
    assert_true(exists("done/f.ndjson"));
}

/* Because PostgreSQL stores only UTF-8. */
static void record_has_a_utf8_name_even_if_the_file_does_not(void **state)
{
    (void)state;
    put("\xff.ndjson", STR(HOURS("1")));
    insert_record("\xff.ndjson", true, TIME_NONE, NULL);
    assert_int_equal(sql("SELECT count(*) FROM spool_files WHERE name = '/ff2e6e646a736f6e'"), 1);
    refreshing_run(&r, &spool_source);
    assert_true(exists("done/\xff.ndjson") && !exists("\xff.ndjson"));
    assert_int_equal(views(), 0);
    assert_no_records();
}

/* An earlier release has stored the name without encoding it, and `viewtally move` has replaced its bytes. */
static void record_whose_name_became_too_long_is_deleted(void **state)
{
    (void)state;
    put("f.ndjson", STR(HOURS("1")));
    insert_record("f.ndjson", true, TIME_NONE, "bad");
    assert_int_equal(unlinkat(d.fd, "f.ndjson", 0), 0);
    (void)sql("UPDATE spool_files SET name = replace(hex(zeroblob(100)), '00', char(65533)) RETURNING 1");
    refreshing_run(&r, &spool_source);
    assert_no_records();
}

static void record_of_a_removed_file_is_deleted(void **state)
{
    (void)state;
    put("f.ndjson", STR(HOURS("1")));
    put("g.ndjson", STR(HOURS("1")));
    insert_record("f.ndjson", false, TEST_DAY, "half");
    insert_record("g.ndjson", true, TIME_NONE, "applied");
    assert_int_equal(unlinkat(d.fd, "f.ndjson", 0), 0);
    assert_int_equal(unlinkat(d.fd, "g.ndjson", 0), 0);
    refreshing_run(&r, &spool_source);
    assert_no_records();
    assert_true(exists("bad/g.ndjson.errors") && !exists("bad/f.ndjson.errors"));
    assert_int_equal(views(), 0);
}

static void record_of_an_unfinished_move_requires_a_run_although_the_spool_is_empty(void **state)
{
    (void)state;
    assert_false(spool_source.has_work(&r.config));
    put("f.ndjson", STR(HOURS("1")));
    assert_true(spool_source.has_work(&r.config));
    insert_record("f.ndjson", true, TIME_NONE, "applied");
    assert_int_equal(renameat(d.fd, "f.ndjson", d.fd, "bad/f.ndjson"), 0);
    assert_true(spool_source.has_work(&r.config));
    refreshing_run(&r, &spool_source);
    assert_true(exists("bad/f.ndjson.errors"));
    assert_false(spool_source.has_work(&r.config));
}

static void report_lists_a_limited_number_of_lines(void **state)
{
    (void)state;
    struct buf text;
    struct stat st;
    static const char end[] = "\nand more lines, which are not listed\n";
    char tail[sizeof end] = "";
    buf_init(&text, 1 << 22);
    for (int i = 0; i < SPOOL_ERRORS_MAX + 5; i++)
        buf_append(&text, STR("x\n"));
    buf_append(&text, STR(HOURS("1")));
    put("f.ndjson", buf_str(&text));
    buf_fini(&text);
    capture_begin();
    log_set(LOG_WARN, LOG_TEXT);
    refreshing_run(&r, &spool_source);
    log_set(LOG_ERROR + 1, LOG_TEXT);
    assert_non_null(strstr(capture_end(), "f.ndjson: more than 100000 lines could not be applied"));
    assert_int_equal(views(), 200);
    int fd = openat(d.fd, "bad/f.ndjson.errors", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    assert_int_equal(pread(fd, tail, sizeof end - 1, st.st_size - (off_t)sizeof end + 1), sizeof end - 1);
    (void)close(fd);
    assert_string_equal(tail, end);
    assert_no_records();
}

static void run_stoppable(void)
{
    const struct refresh_options options = {.config = &r.config,
                                            .rules = step_rules_from_config(&r.config),
                                            .sources = {{&spool_source}},
                                            .cause = CAUSE_COMMAND,
                                            .stop = &stop};
    assert_int_equal(refresh_run(&options, &r.report), OK);
}

static void stopped_run_leaves_the_rest_to_the_next(void **state)
{
    (void)state;
    put("f.ndjson", STR(HOURS("1")));
    atomic_store(&stop, true);
    run_stoppable();
    assert_int_equal(r.report.state, RUN_STOPPED);
    assert_true(exists("f.ndjson"));
    assert_int_equal(views(), 0);
    atomic_store(&stop, false);
    refreshing_run(&r, &spool_source);
    assert_true(exists("done/f.ndjson"));
    assert_int_equal(views(), 200);
}

static void lines_of_an_interrupted_file_are_counted_once(void **state)
{
    (void)state;
    const int64_t(*n)[RUN_COUNTERS] = r.report.counts.n[SOURCE_SPOOL];
    put("f.ndjson", STR("x\n" HOURS("1") "{\"type\":\"author\",\"id\":\"" A1 "\",\"unknown\":1}\n" READING(
                        "youtube", "unknown", "2026-07-04T00:00:00Z", VIEWS(300))));
    cancels_first_commit = true;
    run_stoppable();
    assert_true(exists("f.ndjson"));
    assert_int_equal(n[PLATFORM_COUNT][RUN_BAD_LINES], 0);
    assert_int_equal(n[PLATFORM_COUNT][RUN_UNKNOWN_FIELDS], 0);
    assert_int_equal(n[PLATFORM_YOUTUBE][RUN_REJECTED + REJECTION_UNKNOWN_POST], 0);
    cancels_first_commit = false;
    refreshing_run(&r, &spool_source);
    assert_int_equal(views(), 200);
    assert_int_equal(n[PLATFORM_COUNT][RUN_BAD_LINES], 1);
    assert_int_equal(n[PLATFORM_COUNT][RUN_UNKNOWN_FIELDS], 1);
    assert_int_equal(n[PLATFORM_YOUTUBE][RUN_REJECTED + REJECTION_UNKNOWN_POST], 1);
}

static void unreadable_file_does_not_prevent_the_next_one(void **state)
{
    (void)state;
    put("1.ndjson", STR(READING("youtube", "y1", "2026-07-04T00:00:00Z", VIEWS(300))));
    put("2.ndjson", STR(HOURS("1")));
    unreadable = "1.ndjson";
    run_stoppable();
    assert_int_equal(r.report.state, RUN_FAILED);
    assert_true(exists("1.ndjson") && exists("done/2.ndjson"));
    assert_int_equal(views(), 200);
    unreadable = NULL;
    refreshing_run(&r, &spool_source);
    assert_true(exists("done/1.ndjson"));
    assert_int_equal(views(), 300);
}

static void run_that_is_stopped_during_an_unreadable_file_has_not_failed(void **state)
{
    (void)state;
    put("1.ndjson", STR(HOURS("1")));
    put("2.ndjson", STR(HOURS("1")));
    unreadable = "1.ndjson";
    stops_at_unreadable = true;
    run_stoppable();
    assert_int_equal(r.report.state, RUN_STOPPED);
    assert_true(exists("1.ndjson") && exists("2.ndjson"));
    assert_int_equal(views(), 0);
}

static void run_fails_if_the_spool_cannot_be_opened(void **state)
{
    (void)state;
    free(r.config.refresh.spool_dir);
    r.config.refresh.spool_dir = strdup("/proc/nowhere/spool");
    assert_int_equal(refreshing_try(&r, &spool_source), OK);
    assert_int_equal(r.report.state, RUN_FAILED);
    assert_string_equal(r.report.why,
                        "cannot open the spool directory /proc/nowhere/spool: No such file or directory");
}

static void run_fails_if_done_is_a_file_and_loses_nothing(void **state)
{
    (void)state;
    put("f.ndjson", STR(HOURS("1")));
    assert_int_equal(unlinkat(d.fd, "done", AT_REMOVEDIR), 0);
    put("done", STR("in the way"));
    assert_int_equal(refreshing_try(&r, &spool_source), OK);
    assert_int_equal(r.report.state, RUN_FAILED);
    assert_non_null(strstr(r.report.why, "/spool/done: Not a directory"));
    assert_int_equal(unlinkat(d.fd, "done", 0), 0);
    refreshing_run(&r, &spool_source);
    assert_true(exists("done/f.ndjson"));
    assert_int_equal(views(), 200);
}

/* No file can be moved to /proc. There are more files than one batch contains, so that the run finishes a
 * batch before it applies the last file. */
static void run_ends_if_applied_files_cannot_be_moved_and_the_next_run_moves_them(void **state)
{
    enum { FILES = 2 * APPLIED_MAX + 5 };
    char name[32], line[256];
    (void)state;
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(name, sizeof name, "%03d.ndjson", i);
        (void)snprintf(line, sizeof line, READING("youtube", "y1", "2026-07-02T%02d:%02d:00Z", VIEWS(100)),
                       i / 60, i % 60);
        put(name, str_from_cstr(line));
    }
    assert_int_equal(unlinkat(d.fd, "done", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("/proc", d.fd, "done"), 0);
    assert_int_equal(refreshing_try(&r, &spool_source), OK);
    assert_int_equal(r.report.state, RUN_FAILED);
    assert_non_null(strstr(r.report.why, "was applied but cannot be moved"));
    assert_int_equal(sql("SELECT count(*) FROM spool_files"), APPLIED_MAX);
    assert_int_equal(unlinkat(d.fd, "done", 0), 0);
    refreshing_run(&r, &spool_source);
    assert_true(exists("done/000.ndjson") && exists("done/204.ndjson"));
    assert_int_equal(views(), 100);
    assert_no_records();
}

#define SPOOL_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPOOL_TEST(file_that_was_already_applied_is_only_moved),
        SPOOL_TEST(new_file_with_the_name_of_an_applied_one_is_applied),
        SPOOL_TEST(new_file_with_the_name_of_a_partly_applied_one_is_applied_from_the_start),
        SPOOL_TEST(partly_applied_file_continues_after_its_last_step),
        SPOOL_TEST(resumed_file_applies_a_step_one_millisecond_after_the_stored_position),
        SPOOL_TEST(record_has_a_utf8_name_even_if_the_file_does_not),
        SPOOL_TEST(record_whose_name_became_too_long_is_deleted),
        SPOOL_TEST(record_of_a_removed_file_is_deleted),
        SPOOL_TEST(record_of_an_unfinished_move_requires_a_run_although_the_spool_is_empty),
        SPOOL_TEST(report_lists_a_limited_number_of_lines),
        SPOOL_TEST(stopped_run_leaves_the_rest_to_the_next),
        SPOOL_TEST(lines_of_an_interrupted_file_are_counted_once),
        SPOOL_TEST(unreadable_file_does_not_prevent_the_next_one),
        SPOOL_TEST(run_that_is_stopped_during_an_unreadable_file_has_not_failed),
        SPOOL_TEST(run_fails_if_the_spool_cannot_be_opened),
        SPOOL_TEST(run_fails_if_done_is_a_file_and_loses_nothing),
        SPOOL_TEST(run_ends_if_applied_files_cannot_be_moved_and_the_next_run_moves_them),
    };
    return cmocka_run_group_tests(tests, refreshing_map_clock, NULL);
}

/* Runs the store on a file system that fails at the n-th operation, for every n: there must be a clear error,
 * no partial write, and success after the fault. Also tests damaged files. */
#include "lib/shim_vfs.h"
#include "lib/temp_db.h"
#include "lib/whole_step.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

static struct temp_db t;

static int set_up(void **state)
{
    (void)state;
    shim_install();
    log_set(LOG_ERROR + 1, LOG_TEXT); /* logs nothing, because there are thousands of faults */
    temp_db_init(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shim_hook(NULL, NULL);
    temp_db_fini(&t);
    return 0;
}

/* --- a fault at the n-th operation --- */

struct fault {
    unsigned ops; /* bits of enum shim_op that are counted */
    int nth;      /* 1: the first */
    int code;
    bool is_permanent;
    int seen, failed;
};

static int on_op(void *ctx, enum shim_op op, enum shim_file file, const char *path)
{
    struct fault *f = ctx;
    (void)file;
    (void)path;
    if (!(f->ops & 1u << op))
        return 0;
    f->seen++;
    if (f->seen < f->nth || (f->seen > f->nth && !f->is_permanent))
        return 0;
    f->failed++;
    return f->code;
}

enum {
    WRITES = 1u << SHIM_WRITE | 1u << SHIM_SYNC | 1u << SHIM_TRUNCATE,
    READS = 1u << SHIM_READ | 1u << SHIM_SHM_MAP,
};

/* For every n, lets the n-th write operation of a step fail. The step must fail as a whole with the error
 * `expected`, and the next step must succeed. */
static void fail_every_write(int code, enum err expected, bool is_permanent)
{
    struct fault f = {0};
    int64_t views = 1;
    add_video_with_first_step(&t);
    for (int n = 1; n < 100; n++) {
        f = (struct fault){.ops = WRITES, .nth = n, .code = code, .is_permanent = is_permanent};
        shim_hook(on_op, &f);
        enum err err = write_step(t.w, ++views);
        shim_hook(NULL, NULL);
        if (!f.failed) {
            assert_int_equal(err, OK);
            break;
        }
        assert_int_equal(err, expected);
        assert_false(sql_in_transaction(t.w->sql));
        assert_int_equal(views_of_last_step(t.path), views - 1);
        assert_int_equal(write_step(t.w, views), OK);
        assert_int_equal(views_of_last_step(t.path), views);
    }
    assert_false(f.failed);
    assert_true(f.seen > 5); /* the step writes several pages of the log and syncs it */
}

static void full_disk_during_a_step_loses_nothing(void **state)
{
    (void)state;
    fail_every_write(SQLITE_FULL, ERR_FULL, false);
}

static void disk_that_stays_full_loses_nothing(void **state)
{
    (void)state;
    fail_every_write(SQLITE_FULL, ERR_FULL, true);
}

static void failed_write_loses_nothing(void **state)
{
    (void)state;
    fail_every_write(SQLITE_IOERR_WRITE, ERR_IO, false);
}

static void disk_that_stays_broken_loses_nothing(void **state)
{
    (void)state;
    fail_every_write(SQLITE_IOERR_FSYNC, ERR_IO, true);
}

/* --- reads --- */

static bool ignore_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    (void)v;
    (void)book;
    ++*(int *)ctx;
    return true;
}

static bool ignore_event(void *ctx, const struct event *e, const struct video_ref *v,
                         const struct book_ref *book)
{
    (void)e;
    (void)v;
    return ignore_video(ctx, NULL, book);
}

static bool ignore_stats(void *ctx, const struct stats_video *row)
{
    return ignore_video(ctx, NULL, &row->book);
}

static enum err read_all(struct store *s, int *rows)
{
    struct store_read read = {.store = s};
    struct videos_query v = {.author_row = 1, .posted_from = INT64_MIN, .posted_to = INT64_MAX, .limit = 50};
    struct events_query e = {.author_row = 1, .occurred_after = INT64_MIN, .limit = 50, .scan_limit = 50};
    struct stats_query st = {.author_row = 1, .from = 0, .to = 100000, .limit = 50};
    struct events_progress ep;
    struct stats_progress sp;
    (void)store_list_videos(&read, &v, ignore_video, rows);
    if (!read.err)
        (void)store_list_events(&read, &e, ignore_event, rows, &ep);
    if (!read.err)
        (void)store_list_stats(&read, &st, ignore_stats, rows, &sp);
    return read.err;
}

static void fail_every_read(int code, enum err expected, bool is_permanent)
{
    int n;
    add_video_with_first_step(&t);
    for (n = 1; n < 200; n++) {
        struct fault f = {.ops = READS, .nth = n, .code = code, .is_permanent = is_permanent};
        int rows = 0;
        struct store *s = temp_db_open(&t, STORE_READ);
        (void)sqlite3_db_release_memory(sqlite_db_of(s)->handle); /* so that every page is read */
        shim_hook(on_op, &f);
        enum err err = read_all(s, &rows);
        shim_hook(NULL, NULL);
        assert_int_equal(err, f.failed ? expected : OK);
        assert_true(f.failed <= 3); /* no endless retries */
        assert_false(sql_in_transaction(s->sql));
        rows = 0;
        assert_int_equal(read_all(s, &rows), OK);
        assert_int_equal(rows, 3);
        store_close(s);
        if (!f.failed)
            break;
    }
    assert_true(n > 3 && n < 200);
}

static void failed_read_is_an_error_and_the_next_succeeds(void **state)
{
    (void)state;
    fail_every_read(SQLITE_IOERR_READ, ERR_IO, false);
}

static void unreadable_disk_is_not_retried_endlessly(void **state)
{
    (void)state;
    fail_every_read(SQLITE_IOERR_READ, ERR_IO, true);
}

static void read_that_runs_out_of_memory_is_an_error(void **state)
{
    (void)state;
    fail_every_read(SQLITE_IOERR_NOMEM, ERR_NOMEM, false);
}

static int count_lines(const char *path)
{
    FILE *f = fopen(path, "r");
    int lines = 0;
    assert_non_null(f);
    for (int c = getc(f); c != EOF; c = getc(f))
        lines += c == '\n';
    fclose(f);
    return lines;
}

/* A disk that fails every request must not fill the log. */
static void repeated_failures_are_logged_in_few_lines(void **state)
{
    (void)state;
    char path[128];
    int rows = 0, saved = dup(STDERR_FILENO);
    add_video_with_first_step(&t);
    (void)snprintf(path, sizeof path, "%s/log", t.dir);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(saved >= 0 && fd >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    log_set(LOG_INFO, LOG_TEXT);
    for (int i = 0; i < 100; i++) {
        struct fault f = {.ops = READS, .nth = 1, .code = SQLITE_IOERR_READ, .is_permanent = true};
        /* Changes the database, so that the reader reads its pages again. */
        assert_int_equal(write_step(t.w, i + 2), OK);
        shim_hook(on_op, &f);
        assert_int_equal(read_all(t.r, &rows), ERR_IO);
        shim_hook(NULL, NULL);
    }
    log_set(LOG_ERROR + 1, LOG_TEXT);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    close(fd);
    int lines = count_lines(path);
    assert_true(lines >= 1 && lines < 20);
}

/* --- opening --- */

static void failed_open_has_an_error_text(void **state)
{
    (void)state;
    int n;
    add_video_with_first_step(&t);
    for (n = 1; n < 200; n++) {
        struct fault f = {
            .ops = ~(1u << SHIM_SHM_BARRIER | 1u << SHIM_SYNCED), .nth = n, .code = SQLITE_IOERR};
        struct store *s = NULL;
        struct error error = {0};
        shim_hook(on_op, &f);
        enum err err = store_open(
            &s, &(struct store_options){.path = t.path, .mode = STORE_READ, .busy_timeout_ms = 1}, &error);
        shim_hook(NULL, NULL);
        if (!err)
            store_close(s);
        else
            assert_true(strlen(error.text) > 20);
        if (!f.failed)
            break;
    }
    assert_true(n > 5 && n < 200);
}

/* --- damage in the file --- */

/* Overwrites the first 512 bytes of the table's root page. */
static void damage_page_of(const char *table)
{
    static const char noise[512] = {[0 ... 511] = (char)0xff};
    char sql[128];
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open_v2(t.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    (void)snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", table);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    off_t at = (sqlite3_column_int64(q, 0) - 1) * 4096;
    sqlite3_finalize(q);
    sqlite3_close(db);
    int fd = open(t.path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, noise, sizeof noise, at), sizeof noise);
    assert_int_equal(close(fd), 0);
}

static void damaged_page_fails_every_read_and_write(void **state)
{
    (void)state;
    int rows = 0;
    add_video_with_first_step(&t);
    store_close(t.r);
    store_close(t.w); /* checkpoints the log */
    damage_page_of("videos");
    t.r = temp_db_open(&t, STORE_READ);
    t.w = temp_db_open(&t, STORE_WRITE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_all(t.r, &rows), ERR_CORRUPT);
        assert_int_equal(write_step(t.w, 5), ERR_CORRUPT);
    }
    assert_int_equal(rows, 0);
}

static void damaged_column_fails_reads_and_writes(void **state)
{
    (void)state;
    static const char *const damage[] = {
        "UPDATE videos SET posts = x'0102'",
        "UPDATE videos SET milestones = x'ff'",
        "UPDATE videos SET posts = x'', milestones = x''; PRAGMA ignore_check_constraints = 1; UPDATE videos "
        "SET uuid = x'00'",
    };
    for (size_t i = 0; i < 3; i++) {
        sqlite3 *db;
        int rows = 0;
        if (i == 0)
            add_video_with_first_step(&t);
        assert_int_equal(sqlite3_open(t.path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, damage[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_int_equal(read_all(t.r, &rows), ERR_CORRUPT);
        assert_int_equal(write_step(t.w, 5), ERR_CORRUPT);
        assert_int_equal(rows, 0);
    }
}

/* Undamaged rows after the damaged one do not hide the error. */
static void one_damaged_video_fails_the_whole_page(void **state)
{
    (void)state;
    enum { VIDEOS = 5 };
    static const char *const damage[] = {
        "UPDATE videos SET thumbnail_url = thumbnail_url",
        "PRAGMA ignore_check_constraints = 1; UPDATE videos SET uuid = x'00' WHERE id % 256 = 3",
        "DELETE FROM videos WHERE id % 256 = 3",
    };
    static const struct events_query feed = {.author_row = 1, .limit = 100, .scan_limit = 1000};
    static const struct stats_query days = {.author_row = 1, .from = 0, .to = 30000, .limit = 100};
    static const struct videos_query page = {.author_row = 1, .posted_to = INT64_MAX, .limit = 100};
    test_begin(&t);
    struct author author = add_author(&t, 1);
    for (uint64_t i = 0; i < VIDEOS; i++) {
        struct video v = add_video(&t, &author, 0, i, TEST_DAY - (int64_t)i);
        add_reading(&t, &v, TEST_DAY + HOUR_MS, 10);
        add_reading(&t, &v, TEST_DAY + DAY_MS, 20);
        add_event(&t, &v, EVENT_MILESTONE_REACHED, 1000, TEST_DAY + DAY_MS);
    }
    test_commit(&t);
    for (int i = 0; i < 3; i++) {
        const bool is_damaged = i == 1, is_gone = i == 2; /* deleted although an event refers to it */
        sqlite3 *db;
        struct store_read read = temp_db_read(&t);
        struct events_progress events;
        struct stats_progress stats;
        int rows[3] = {0};
        assert_int_equal(sqlite3_open(t.path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, damage[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        (void)store_list_events(&read, &feed, ignore_event, &rows[0], &events);
        assert_int_equal(read.err, is_damaged || is_gone ? ERR_CORRUPT : OK);
        (void)store_list_stats(&read, &days, ignore_stats, &rows[1], &stats);
        assert_int_equal(read.err, is_damaged ? ERR_CORRUPT : OK);
        (void)store_list_videos(&read, &page, ignore_video, &rows[2]);
        assert_int_equal(read.err, is_damaged ? ERR_CORRUPT : OK);
        for (int k = 0; k < 3; k++)
            assert_true(i ? rows[k] < VIDEOS : rows[k] == VIDEOS);
    }
}

/* The store writes the last event id just before the commit. If this write fails, the commit fails. */
static void commit_rolls_back_if_it_cannot_save_event_ids(void **state)
{
    (void)state;
    sqlite3 *db = sqlite_db_of(t.w)->handle;
    add_video_with_first_step(&t);
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TEMP TRIGGER no BEFORE UPDATE ON main.meta BEGIN SELECT RAISE(ABORT, 'no'); END",
                     NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(write_step(t.w, 2), ERR_INVALID);
    assert_false(sql_in_transaction(t.w->sql));
    assert_int_equal(views_of_last_step(t.path), 1);
    assert_int_equal(sqlite3_exec(db, "DROP TRIGGER temp.no", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(write_step(t.w, 2), OK); /* recompiles the statements */
    assert_int_equal(views_of_last_step(t.path), 2);
}

/* --- a real limit: the file may not grow --- */

static void exceeding_the_file_size_limit_is_reported_as_a_full_disk(void **state)
{
    (void)state;
    add_video_with_first_step(&t);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {.rlim_cur = 300000, .rlim_max = 300000};
        struct store *s = NULL;
        struct error error = {0};
        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
            store_open(&s,
                       &(struct store_options){.path = t.path, .mode = STORE_WRITE, .busy_timeout_ms = 1000},
                       &error))
            _exit(99);
        enum err err = OK;
        for (int64_t views = 2; !err && views < 1000; views++)
            err = write_step(s, views);
        _exit(err == ERR_FULL ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    int64_t views = views_of_last_step(t.path);
    assert_true(views > 5);
    assert_int_equal(write_step(t.w, views + 1), OK);
    assert_int_equal(views_of_last_step(t.path), views + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(full_disk_during_a_step_loses_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disk_that_stays_full_loses_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_write_loses_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disk_that_stays_broken_loses_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_read_is_an_error_and_the_next_succeeds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unreadable_disk_is_not_retried_endlessly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(read_that_runs_out_of_memory_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(repeated_failures_are_logged_in_few_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_open_has_an_error_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_page_fails_every_read_and_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_column_fails_reads_and_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_damaged_video_fails_the_whole_page, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commit_rolls_back_if_it_cannot_save_event_ids, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exceeding_the_file_size_limit_is_reported_as_a_full_disk, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

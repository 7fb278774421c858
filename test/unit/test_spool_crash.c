/* Kills runs over the spool before each system call that changes something, and runs again: the database, the
 * directories and the report must equal those of an uninterrupted run. Each reading is applied exactly once,
 * and none is wrongly rejected as stale. */
#include "refresh/spool.h"

#include "base/clock.h"
#include "lib/crash.h"
#include "lib/dump.h"
#include "lib/refreshing.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Kills the run at every change of a file, or only at every fifth with AddressSanitizer, which is several
 * times as slow. */
#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 5 };
#else
enum { STRIDE = 1 };
#endif

/* The numbers of times and of additional videos cause more readings than fit in one transaction. */
enum { INSTANTS = 170, MORE_VIDEOS = 10, LEASE_OVER_MS = 60000 };

static char template_path[96];
static struct buf file_text;

struct world {
    struct temp_db db;
    struct config config;
    bool taken_over; /* 1 if another run completed while the first one was suspended */
    char spool[112];
};

static void append_reading(struct buf *out, const char *post, int64_t at, int views, const char *more)
{
    char time[TIME_TEXT_LEN];
    time_format(at, time);
    buf_printf(out,
               "{\"type\":\"reading\",\"platform\":\"youtube\",\"post_id\":\"%s\",\"observed_at\":\"%.*s\"",
               post, (int)sizeof time, time);
    buf_printf(out, ",\"views\":%d%s}\n", views, more);
}

/* Appends the lines of the spool file. Every phase of the import finds bad lines: a malformed line, a
 * video that belongs to another author, a reading of an unknown post, and two readings that are rejected by
 * steps, one in the first and one in the last transaction. */
static void make_file(struct buf *out)
{
    buf_append(out,
               STR("nonsense\n" VIDEO(V3, A2, POSTS(POST("youtube", "y3", "2026-07-01T00:00:00Z")))
                       VIDEO(V1, A2, TITLE("taken")) READING("youtube", "none", "2026-07-02T00:00:00Z", "")
                           READING("youtube", "y1", "2026-06-01T00:00:00Z", VIEWS(1))));
    for (int i = INSTANTS; i-- > 0;) {
        const int64_t at = TEST_DAY + DAY_MS + i * MINUTE_MS;
        append_reading(out, "y1", at, 50 * i, i % 100 == 0 ? ",\"likes\":1" : "");
        append_reading(out, "y2", at, 15 * i, "");
        append_reading(out, "y3", at, i < 90 ? 500 : 500 * i, i < 90 ? ",\"baseline\":true" : "");
        for (int n = 0; n < MORE_VIDEOS; n++) {
            char post[16];
            (void)snprintf(post, sizeof post, "q%d", n);
            append_reading(out, post, at, (n + 1) * i, "");
        }
    }
    append_reading(out, "y2", TEST_DAY + 31 * DAY_MS, 1, "");
}

static void make_template(void)
{
    struct importing t;
    struct buf lines;
    struct error error = {0};
    importing_init(&t);
    buf_init(&lines, 1 << 20);
    buf_append(&lines, STR(AUTHOR(A1, NAME("Ann")) AUTHOR(A2, NAME("Bob"))
                               VIDEO(V1, A1, POSTS(POST("youtube", "y1", "2026-07-01T00:00:00Z")))
                                   VIDEO(V2, A2, POSTS(POST("youtube", "y2", "2026-07-01T00:00:00Z")))));
    for (int n = 0; n < MORE_VIDEOS; n++)
        buf_printf(&lines,
                   "{\"type\":\"video\",\"id\":\"dddddddd-0000-4000-8000-%012d\",\"author_id\":\"" A2
                   "\",\"posts\":[" POST("youtube", "q%d", "2026-07-01T00:00:00Z") "]}\n",
                   n, n);
    buf_append_char(&lines, '\0');
    import_text(&t, lines.p);
    buf_fini(&lines);
    (void)snprintf(template_path, sizeof template_path, "/tmp/viewtally-template-XXXXXX");
    int fd = mkstemp(template_path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(store_copy(t.db.path, template_path, &error), OK);
    importing_fini(&t);
}

static int set_up_all(void **state)
{
    (void)state;
    (void)refreshing_map_clock(NULL);
    buf_init(&file_text, 1 << 24);
    make_file(&file_text);
    make_template();
    return 0;
}

static int tear_down_all(void **state)
{
    (void)state;
    buf_fini(&file_text);
    return unlink(template_path);
}

static void write_bytes(const char *path, struct str bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.p, 1, bytes.len, f), bytes.len);
    assert_int_equal(fclose(f), 0);
}

static void read_bytes(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *to;
    size_t n;
    do {
        to = buf_reserve(out, 1 << 16);
        n = fread(to, 1, 1 << 16, f);
        out->len += n;
    } while (n > 0);
    (void)fclose(f);
}

static void world_init(struct world *w)
{
    struct buf bytes;
    char path[128];
    buf_init(&bytes, 1 << 26);
    temp_dir_init(&w->db);
    read_bytes(template_path, &bytes);
    write_bytes(w->db.path, buf_str(&bytes));
    buf_fini(&bytes);
    w->taken_over = false;
    config_init(&w->config);
    free(w->config.store.path);
    free(w->config.refresh.spool_dir);
    (void)snprintf(w->spool, sizeof w->spool, "%s/spool", w->db.dir);
    w->config.store.path = strdup(w->db.path);
    w->config.refresh.spool_dir = strdup(w->spool);
    assert_int_equal(mkdir(w->spool, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/f.ndjson", w->spool);
    write_bytes(path, buf_str(&file_text));
    (void)snprintf(path, sizeof path, "%s/g.ndjson", w->spool);
    write_bytes(path, STR(READING("youtube", "y1", "2026-07-03T00:00:00Z", VIEWS(20000))));
    test_clock_ms[0] = IMPORT_NOW;
}

static void world_fini(struct world *w)
{
    config_fini(&w->config);
    temp_db_fini(&w->db);
}

static int run_spool(void *ctx)
{
    struct world *w = ctx;
    struct refresh_report report;
    const struct refresh_options options = {.config = &w->config,
                                            .rules = step_rules_from_config(&w->config),
                                            .sources = {{&spool_source}},
                                            .cause = CAUSE_COMMAND};
    return refresh_run(&options, &report) != OK || report.state == RUN_FAILED;
}

/* Appends the names of the files in all directories, and the content of the report. */
static void dump_spool(const struct world *w, struct buf *out)
{
    static const char *const places[] = {"", "/done", "/bad"};
    for (size_t i = 0; i < 3; i++) {
        char path[160];
        struct dirent **names;
        (void)snprintf(path, sizeof path, "%s%s", w->spool, places[i]);
        int n = scandir(path, &names, NULL, alphasort);
        assert_true(n >= 0);
        for (int k = 0; k < n; k++) {
            if (names[k]->d_name[0] != '.' || names[k]->d_name[1] > '.')
                buf_printf(out, "file %s/%s\n", places[i], names[k]->d_name);
            free(names[k]);
        }
        free(names);
    }
    char report[160];
    (void)snprintf(report, sizeof report, "%s/bad/f.ndjson.errors", w->spool);
    read_bytes(report, out);
}

static void dump_world(const struct world *w, struct buf *out)
{
    dump_database(w->db.path, out);
    dump_spool(w, out);
    buf_printf(out, "left %lld %lld\n", (long long)query_i64(w->db.path, "SELECT count(*) FROM spool_files"),
               (long long)query_i64(w->db.path, "SELECT count(*) FROM spool_errors"));
}

static void run_uninterrupted(struct buf *out)
{
    struct world w;
    world_init(&w);
    assert_int_equal(run_spool(&w), 0);
    dump_world(&w, out);
    world_fini(&w);
}

static void uninterrupted_run_has_expected_result(void **state)
{
    (void)state;
    struct buf found;
    buf_init(&found, 1 << 24);
    run_uninterrupted(&found);
    buf_append_char(&found, '\0');
    assert_non_null(strstr(found.p, "file /done/g.ndjson\nfile /bad/f.ndjson\nfile /bad/f.ndjson.errors\n"
                                    "1: not valid JSON: "));
    assert_non_null(strstr(found.p, "\n3: id belongs to another author\n4: unknown post\n"
                                    "5: observed_at is before the post's posted_at\n"
                                    "2216: observed_at is more than 60 s in the future\nleft 0 0\n"));
    buf_fini(&found);
}

/* Kills a run before its `at`-th change of a file, makes the next run, and compares the result. Returns false
 * if the run ended before it could be killed. */
static bool kill_and_run_again(int at, const struct buf *expected)
{
    struct world w;
    struct buf found;
    buf_init(&found, 1 << 24);
    world_init(&w);
    const enum crash_end end = crash_before_change(at, run_spool, &w);
    if (end == CRASH_NOT_POSSIBLE)
        skip();
    test_clock_ms[0] += LEASE_OVER_MS;
    if (end == CRASH_REACHED)
        assert_int_equal(run_spool(&w), 0);
    dump_world(&w, &found);
    assert_same_dump(expected, &found);
    buf_fini(&found);
    world_fini(&w);
    return end == CRASH_REACHED;
}

static void crash_before_each_change_does_not_affect_the_result(void **state)
{
    (void)state;
    struct buf expected;
    int at = 1, crashes = 0;
    buf_init(&expected, 1 << 24);
    run_uninterrupted(&expected);
    while (kill_and_run_again(at, &expected)) {
        at += STRIDE;
        crashes++;
    }
    assert_true(crashes > 30 / STRIDE);
    buf_fini(&expected);
}

/* Called while a process is suspended. Makes another run, which takes over the work, or fails if the
 * suspended process holds the database lock. If the run succeeds, creates a new file with the name of a file
 * that the run has applied. */
static void take_over(void *ctx)
{
    struct world *w = ctx;
    struct refresh_report report;
    const struct refresh_options options = {.config = &w->config,
                                            .rules = step_rules_from_config(&w->config),
                                            .sources = {{&spool_source}},
                                            .cause = CAUSE_COMMAND};
    char path[128];
    test_clock_ms[0] += LEASE_OVER_MS;
    w->config.store.busy_timeout_ms = 1;
    if (refresh_run(&options, &report) != OK || report.state > RUN_PARTIAL)
        return;
    w->taken_over = true;
    (void)snprintf(path, sizeof path, "%s/g.ndjson", w->spool);
    write_bytes(path, STR("\n"));
}

static bool suspend_and_run_again(int at, const struct buf *expected, int *taken_over)
{
    struct world w;
    struct buf found;
    char path[128];
    buf_init(&found, 1 << 24);
    world_init(&w);
    const enum crash_end end = crash_suspend_before_change(at, run_spool, take_over, &w);
    if (end == CRASH_NOT_POSSIBLE)
        skip();
    if (w.taken_over) {
        (void)snprintf(path, sizeof path, "%s/g.ndjson", w.spool);
        if (unlink(path) != 0) /* the suspended process had lost the lease and must not have moved it */
            fail_msg("suspended before change %d: the process has moved a file without the lease", at);
        *taken_over += 1;
    }
    test_clock_ms[0] += LEASE_OVER_MS;
    assert_int_equal(run_spool(&w), 0);
    dump_world(&w, &found);
    assert_same_dump(expected, &found);
    buf_fini(&found);
    world_fini(&w);
    return end == CRASH_REACHED;
}

static void process_suspended_before_each_change_does_not_affect_the_result(void **state)
{
    (void)state;
    struct buf expected;
    int at = 1, taken_over = 0;
    buf_init(&expected, 1 << 24);
    run_uninterrupted(&expected);
    while (suspend_and_run_again(at, &expected, &taken_over))
        at += 2 * STRIDE;
    assert_true(taken_over > 4 / STRIDE);
    buf_fini(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uninterrupted_run_has_expected_result),
        cmocka_unit_test(crash_before_each_change_does_not_affect_the_result),
        cmocka_unit_test(process_suspended_before_each_change_does_not_affect_the_result),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}

/* Tests how an import combines lines, which lines it rejects, and how it handles unusual input. */
#include "lib/importing.h"

#include "base/clock.h"
#include "lib/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct importing t;

static int set_up(void **state)
{
    (void)state;
    importing_init(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    importing_fini(&t);
    return 0;
}

static int64_t sql(const char *query)
{
    return query_i64(t.db.path, query);
}

#define WORLD                                                                                                \
    AUTHOR(A1, NAME("Ann"))                                                                                  \
    AUTHOR(A2, NAME("Bob"))                                                                                  \
    BOOK(B1, A1, TITLE("Book"))                                                                              \
    BOOK(B2, A2, TITLE("Other"))                                                                             \
    VIDEO(V1, A1, POSTS(POST("youtube", "y1", "2026-07-01T00:00:00Z")))                                      \
    VIDEO(V2, A2, POSTS(POST("youtube", "y2", "2026-07-01T00:00:00Z")))

/* ---- applying lines ---- */

static void order_of_lines_does_not_matter(void **state)
{
    (void)state;
    import_text(
        &t, READING("tiktok", "k1", "2026-07-02T01:00:00Z",
                    VIEWS(1500) ",\"likes\":3") READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(1000))
                VIDEO(V1, A1,
                      ",\"book_id\":\"" B1
                      "\"" TITLE("Clip") POSTS(POST("tiktok", "k1", "2026-07-01T10:00:00Z") "," POST(
                          "youtube", "y1", "2026-07-01T00:00:00Z"))) "\n  \t\r\n" BOOK(B1, A1, TITLE("Book"))
                    AUTHOR(A1, NAME("Ann")));
    assert_bad(&t, "");
    assert_int_equal(t.summary.lines, 5);
    assert_int_equal(t.summary.readings, 2);
    assert_int_equal(t.summary.upserts[RECORD_AUTHOR].created, 1);
    assert_int_equal(t.summary.upserts[RECORD_BOOK].created, 1);
    assert_int_equal(t.summary.upserts[RECORD_VIDEO].created, 1);
    assert_int_equal(sql("SELECT views FROM videos"), 2500);
    assert_int_equal(sql("SELECT count(*) FROM events"), 1);
    assert_int_equal(sql("SELECT posted_at FROM videos"), TEST_DAY);
    assert_int_equal(sql("SELECT count(*) FROM post_keys"), 2);
    assert_int_equal(sql("SELECT videos_posted FROM books"), 1);
    assert_int_equal(sql("SELECT created_at FROM authors"), IMPORT_NOW);
    assert_int_equal(sql("SELECT plan_active FROM authors"), 1);
    assert_int_equal(sql("SELECT threshold FROM videos"), 10000);
}

static void importing_again_changes_nothing(void **state)
{
    (void)state;
    struct buf before, after;
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    import_text(&t, WORLD READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(1000)));
    dump_database(t.db.path, &before);
    const int64_t revisions = sql("SELECT sum(rev) FROM authors");
    import_text(&t, WORLD READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(1000)));
    assert_bad(&t, "");
    dump_database(t.db.path, &after);
    assert_same_dump(&before, &after);
    assert_int_equal(sql("SELECT sum(rev) FROM authors"), revisions);
    assert_int_equal(t.summary.upserts[RECORD_VIDEO].unchanged, 2);
    assert_int_equal(t.summary.upserts[RECORD_VIDEO].changed + t.summary.upserts[RECORD_VIDEO].created, 0);
    assert_int_equal(t.summary.upserts[RECORD_AUTHOR].unchanged, 2);
    assert_int_equal(t.summary.upserts[RECORD_BOOK].unchanged, 2);
    buf_fini(&before);
    buf_fini(&after);
}

static void upsert_changes_only_named_fields(void **state)
{
    (void)state;
    import_text(&t, WORLD VIDEO(V1, A1,
                                ",\"book_id\":\"" B1
                                "\"" TITLE("Clip") ",\"thumbnail_url\":\"https://h/t.png\""));
    import_text(&t, AUTHOR(A1, ",\"plan_active\":false") "{\"type\":\"book\",\"id\":\"" B1
                                                         "\",\"subtitle\":\"Sub\"}\n"
                                                         "{\"type\":\"video\",\"id\":\"" V1
                                                         "\",\"title\":\"New\"}\n");
    assert_bad(&t, "");
    assert_int_equal(sql("SELECT count(*) FROM authors WHERE name = 'Ann' AND plan_active = 0"), 1);
    assert_int_equal(sql("SELECT count(*) FROM books WHERE title = 'Book' AND subtitle = 'Sub'"), 1);
    assert_int_equal(sql("SELECT count(*) FROM videos WHERE title = 'New' AND thumbnail_url = "
                         "'https://h/t.png' AND book_id > 0"),
                     1);
    import_text(
        &t, VIDEO(V1, A1,
                  ",\"title\":null,\"thumbnail_url\":null,\"book_id\":null") "{\"type\":\"book\",\"id\":\"" B1
                                                                             "\",\"subtitle\":null,\"title\":"
                                                                             "\"T2\",\"created_at\":\"2026-"
                                                                             "01-01T00:00:00Z\"}\n");
    assert_bad(&t, "");
    assert_int_equal(
        sql("SELECT count(*) FROM videos WHERE title IS NULL AND thumbnail_url IS NULL AND book_id IS NULL"),
        2);
    assert_int_equal(sql("SELECT count(*) FROM books WHERE title = 'T2' AND subtitle = ''"), 1);
    assert_int_equal(t.summary.upserts[RECORD_VIDEO].changed, 1);
}

static void posts_are_added_and_changed(void **state)
{
    (void)state;
    import_text(&t, WORLD READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(700)));
    import_text(
        &t, VIDEO(V1, A1,
                  POSTS(POST("tiktok", "k1",
                             "2026-06-30T00:00:00Z") ","
                                                     "{\"platform\":\"youtube\",\"url\":\"https://y/1\"}"))
                READING("tiktok", "k1", "2026-07-03T00:00:00Z", VIEWS(50)));
    assert_bad(&t, "");
    assert_int_equal(sql("SELECT views FROM videos ORDER BY id LIMIT 1"), 750);
    assert_int_equal(sql("SELECT posted_at FROM videos ORDER BY id LIMIT 1"), TEST_DAY - DAY_MS);
    /* Changing a post id frees the old id and keeps the counts. */
    import_text(&t, VIDEO(V1, A1, POSTS("{\"platform\":\"youtube\",\"post_id\":\"y1b\"}"))
                        VIDEO(V2, A2, POSTS("{\"platform\":\"youtube\",\"post_id\":\"y1\"}"))
                            READING("youtube", "y1b", "2026-07-04T00:00:00Z", VIEWS(800)));
    assert_bad(&t, "");
    assert_int_equal(sql("SELECT views FROM videos ORDER BY id LIMIT 1"), 850);
    assert_int_equal(sql("SELECT count(*) FROM post_keys WHERE post_id = 'y1'"), 1);
    assert_int_equal(sql("SELECT count(*) FROM post_keys"), 3);
}

static void video_without_posts_has_no_posted_at(void **state)
{
    (void)state;
    import_text(&t, AUTHOR(A1, NAME("Ann")) VIDEO(V1, A1, ""));
    assert_int_equal(sql("SELECT count(*) FROM videos WHERE posted_at IS NULL"), 1);
    assert_int_equal(sql("SELECT videos_count FROM authors"), 0);
    import_text(&t, VIDEO(V1, A1, POSTS(POST("youtube", "y1", "2026-07-01T00:00:00Z"))));
    assert_int_equal(sql("SELECT videos_count FROM authors"), 1);
}

/* All readings of one author with the same time are one step, even if their lines are in different files. In
 * one step with a baseline of 2,000, an ordinary reading of 1,500 is not a gain. */
static void readings_of_a_step_are_collected_from_all_files(void **state)
{
    (void)state;
    const char *one = write_file(&t, "one",
                                 STR(WORLD READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(1500))
                                         READING("youtube", "y2", "2026-07-01T00:00:00Z", VIEWS(10))));
    const char *two =
        write_file(&t, "two",
                   STR(READING("youtube", "y1", "2026-07-01T12:00:00Z", VIEWS(100)) READING(
                       "youtube", "y1", "2026-07-02T00:00:00.000Z", VIEWS(2000) ",\"baseline\":true")));
    import_files(&t, one, two, NULL);
    assert_int_equal(t.err, OK);
    assert_bad(&t, "");
    assert_int_equal(sql("SELECT views FROM videos ORDER BY id LIMIT 1"), 2000);
    assert_int_equal(sql("SELECT baseline FROM videos ORDER BY id LIMIT 1"), 1900);
    assert_int_equal(sql("SELECT sum(gained) FROM daily"), 110);
    assert_int_equal(sql("SELECT sum(baseline_pending) FROM videos"), 0);
}

/* If the step were split, the reading of 1,500 would be a gain, because the baseline of 2,000 would be
 * applied later. */
static void step_that_exceeds_an_import_batch_is_one_transaction(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 22);
    buf_append(&text, STR(WORLD));
    for (int i = 0; i < 5000; i++)
        buf_append(&text, STR(READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(1500))));
    buf_append(&text,
               STR(READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(2000) ",\"baseline\":true")));
    import_files(&t, write_file(&t, "f", buf_str(&text)), NULL);
    assert_int_equal(t.err, OK);
    assert_bad(&t, "");
    assert_int_equal(sql("SELECT sum(baseline) FROM videos"), 2000);
    assert_int_equal(sql("SELECT count(*) FROM daily"), 0);
    buf_fini(&text);
}

/* A new video is compared with videos that had readings before this import, not with videos that get their
 * first reading in the import. */
static void new_video_is_compared_only_with_videos_read_before_the_import(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_append(&text, STR(AUTHOR(A1, NAME("Ann"))));
    for (int i = 0; i < 6; i++) {
        buf_printf(
            &text,
            "{\"type\":\"video\",\"id\":\"cccccccc-0000-4000-8000-0000000000%02d\",\"author_id\":\"" A1
            "\",\"posts\":["
            "{\"platform\":\"youtube\",\"post_id\":\"p%d\",\"posted_at\":\"2026-06-20T00:00:00Z\"}]}\n",
            10 + i, i);
        buf_printf(&text,
                   "{\"type\":\"reading\",\"platform\":\"youtube\",\"post_id\":\"p%d\",\"observed_at\":"
                   "\"2026-06-20T01:00:00Z\","
                   "\"views\":%d}\n",
                   i, 3000 + i);
    }
    import_files(&t, write_file(&t, "f", buf_str(&text)), NULL);
    assert_int_equal(sql("SELECT sum(compared_videos) FROM videos"), 0);
    import_text(&t, VIDEO(V1, A1, ""));
    assert_int_equal(sql("SELECT compared_videos FROM videos WHERE posted_at IS NULL"), 6);
    assert_int_equal(sql("SELECT author_median_views FROM videos WHERE posted_at IS NULL"), 3002);
    assert_int_equal(sql("SELECT threshold FROM videos WHERE posted_at IS NULL"), 15010);
    buf_fini(&text);
}

/* ---- rejected lines ---- */

static void lines_that_contradict_the_database_are_rejected(void **state)
{
    (void)state;
    struct buf before, after;
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    import_text(&t, WORLD);
    dump_database(t.db.path, &before);
    import_text(
        &t,
        AUTHOR(V1, "") BOOK(V1, A1, "") "{\"type\":\"book\",\"id\":\"" V1 "\",\"title\":\"x\"}\n" BOOK(
            V1, V1, TITLE("x")) BOOK(B1, A2, TITLE("stolen")) VIDEO(V3, V3, TITLE("x"))
            VIDEO(V1, A2, TITLE("stolen")) "{\"type\":\"video\",\"id\":\"" V3 "\"}\n" VIDEO(
                V1, A1, TITLE("x") ",\"book_id\":\"" B2 "\"") VIDEO(V1, A1,
                                                                    TITLE("x") ",\"book_id\":\"" V1 "\"")
                VIDEO(V1, A1, TITLE("x") POSTS(POST("youtube", "y2", "2026-07-01T00:00:00Z")))
                    VIDEO(V3, A1,
                          TITLE("x") POSTS(POST("tiktok", "new", "2026-07-01T00:00:00Z") "," POST(
                              "youtube", "y1", "2026-07-01T00:00:00Z")))
                        VIDEO(V1, A1,
                              TITLE("x")
                                  POSTS("{\"platform\":\"tiktok\",\"posted_at\":\"2026-07-01T00:00:00Z\"}"))
                            VIDEO(V1, A1, TITLE("x") POSTS("{\"platform\":\"tiktok\",\"post_id\":\"k\"}")));
    assert_bad(&t, "f:1: name is missing\n"
                   "f:2: title is missing\n"
                   "f:3: author_id is missing\n"
                   "f:4: author_id is unknown\n"
                   "f:5: id belongs to another author\n"
                   "f:6: author_id is unknown\n"
                   "f:7: id belongs to another author\n"
                   "f:8: author_id is missing\n"
                   "f:9: book_id belongs to another author\n"
                   "f:10: book_id is unknown\n"
                   "f:11: posts[0].post_id belongs to another video\n"
                   "f:12: posts[1].post_id belongs to another video\n"
                   "f:13: posts[0].post_id is missing\n"
                   "f:14: posts[0].posted_at is missing\n");
    assert_int_equal(t.summary.bad_lines, 14);
    dump_database(t.db.path, &after);
    assert_same_dump(&before, &after); /* a rejected line changes nothing */
    buf_fini(&before);
    buf_fini(&after);
}

static void rejected_readings_are_reported_with_their_line(void **state)
{
    (void)state;
    import_text(&t, WORLD READING("youtube", "nobody", "2026-07-02T00:00:00Z", VIEWS(1))
                        READING("tiktok", "y1", "2026-07-02T00:00:00Z", VIEWS(1))
                            READING("youtube", "y1", "2026-07-11T00:01:00.001Z", VIEWS(1))
                                READING("youtube", "y1", "2026-06-30T23:59:59.999Z", VIEWS(1))
                                    READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(10))
                                        READING("youtube", "y1", "2026-07-11T00:01:00Z", VIEWS(20)));
    assert_bad(&t, "f:7: unknown post\n"
                   "f:8: unknown post\n"
                   "f:10: observed_at is before the post's posted_at\n"
                   "f:9: observed_at is more than 60 s in the future\n");
    assert_int_equal(t.summary.rejected[REJECTION_UNKNOWN_POST], 2);
    assert_int_equal(t.summary.rejected[REJECTION_FUTURE], 1);
    assert_int_equal(t.summary.rejected[REJECTION_BEFORE_POST], 1);
    assert_int_equal(t.summary.bad_lines, 0);
    assert_int_equal(import_rejected_readings(&t.summary), 4);
    import_text(&t, READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(99)));
    assert_bad(&t, "f:1: observed_at is older than the post's last reading\n");
    assert_int_equal(sql("SELECT max(views) FROM videos"), 20);
}

/* Another import corrects the id of the post, after this one has found the video of its readings. */
static void correct_post_id(void *ctx, const struct import_progress *progress)
{
    struct import_options options = t.options;
    struct import_summary summary;
    const char *file = write_file(
        &t, "corrected", STR(VIDEO(V1, A1, POSTS("{\"platform\":\"youtube\",\"post_id\":\"y1b\"}"))));
    (void)ctx;
    if (progress->phase != IMPORT_SORTING)
        return;
    options.files = &file;
    options.file_count = 1;
    options.on_progress = NULL;
    assert_int_equal(import_run(t.db.w, &options, &summary), OK);
    assert_int_equal(summary.upserts[RECORD_VIDEO].changed, 1);
}

static void readings_of_a_post_whose_id_is_corrected_after_sorting_are_rejected(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_append(&text, STR(WORLD));
    for (int i = 0; i < 1000; i++) /* progress is shown after 1,000 readings */
        buf_append(&text, STR(READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(1000))));
    t.options.on_progress = correct_post_id;
    import_files(&t, write_file(&t, "f", buf_str(&text)), NULL);
    assert_int_equal(t.err, OK);
    assert_int_equal(t.summary.rejected[REJECTION_UNKNOWN_POST], 1000);
    assert_memory_equal(t.bad.p, "f:7: unknown post\n", strlen("f:7: unknown post\n"));
    assert_int_equal(sql("SELECT max(views) FROM videos"), 0);
    buf_fini(&text);
}

static void bad_lines_do_not_stop_the_import(void **state)
{
    (void)state;
    static const char text[] =
        "{\"type\":\"author\",\"id\":\"x\"}\n"
        "\xff\xfe\n" AUTHOR(
            A1, NAME("Ann")) "[1,2]\n"
                             "{\"type\":\"planet\"}\n" VIDEO(
                                 V1, A1, POSTS(POST("youtube", "y1", "2026-07-01T00:00:00Z")))
                                 READING("youtube", "y1", "2026-07-02T00:00:00Z",
                                         VIEWS(-5)) READING("youtube", "y1", "2026-07-02T00:00:00Z",
                                                            VIEWS(99999999999999999999999999))
                                     READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(7))
                                         AUTHOR(A2, ",\"name\":\"\xc3\x28\"") "{\"type\":\"reading\","
                                                                              "\"platform\":\"youtube\",\"po";
    import_text(&t, text);
    assert_bad(&t, "f:1: id is not a UUID\n"
                   "f:2: not valid JSON: UTF-16 encoding is not supported at byte 1\n"
                   "f:4: not a JSON object\n"
                   "f:5: type is not one of author, book, video, reading\n"
                   "f:7: views is negative\n"
                   "f:8: views is too large\n"
                   "f:10: not valid JSON: invalid UTF-8 encoding in string at byte 70\n"
                   "f:11: not valid JSON: the line ends too early\n");
    assert_int_equal(sql("SELECT views FROM videos"), 7);
    assert_int_equal(t.summary.lines, 11);
    assert_int_equal(t.summary.bad_lines, 8);
}

static void last_line_needs_no_newline(void **state)
{
    (void)state;
    import_text(&t, "{\"type\":\"author\",\"id\":\"" A1 "\",\"name\":\"Ann\"}");
    assert_bad(&t, "");
    assert_int_equal(sql("SELECT count(*) FROM authors"), 1);
    import_text(&t, "");
    assert_int_equal(t.summary.lines, 0);
}

static void nothing_is_applied_if_a_file_cannot_be_read(void **state)
{
    (void)state;
    const char *good = write_file(&t, "good", STR(WORLD));
    import_files(&t, good, "/nowhere/at/all", NULL);
    assert_int_not_equal(t.err, OK);
    assert_string_equal(t.summary.why, "/nowhere/at/all: No such file or directory");
    assert_int_equal(sql("SELECT count(*) FROM authors"), 0);
    import_files(&t, good, t.db.dir, NULL);
    assert_int_not_equal(t.err, OK);
    assert_non_null(strstr(t.summary.why, "Is a directory"));
    assert_int_equal(sql("SELECT count(*) FROM authors"), 0);
}

/* ---- large input ---- */

static long max_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Runs produce() in a child process. Returns a path from which its output can be read. */
static const char *pipe_from(void (*produce)(FILE *), pid_t *child)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    *child = fork();
    assert_true(*child >= 0);
    if (*child == 0) {
        close(fds[0]);
        FILE *f = fdopen(fds[1], "w");
        produce(f);
        _exit(fclose(f) != 0);
    }
    close(fds[1]);
    return arena_printf(&t.db.arena, "/dev/fd/%d", fds[0]).p;
}

static void produce_long_line(FILE *f)
{
    static const char chunk[65536] = {[0 ... 65535] = 'x'};
    (void)fputs(WORLD, f);
    for (int i = 0; i < 1600; i++)
        (void)fwrite(chunk, 1, sizeof chunk, f);
    (void)fputs("\n" READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(5)), f);
}

static void line_of_100_megabytes_takes_bounded_memory(void **state)
{
    (void)state;
    pid_t child;
    int status;
    const long before = max_kib();
    import_files(&t, pipe_from(produce_long_line, &child), NULL);
    assert_int_equal(t.err, OK);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    const char *colon = memchr(t.bad.p, ':', t.bad.len);
    assert_true(str_eq(str_make(colon, (size_t)(t.bad.p + t.bad.len - colon)),
                       STR(":7: the line is longer than 1 MiB\n")));
    assert_int_equal(sql("SELECT max(views) FROM videos"), 5);
    assert_true(max_kib() - before < 40 * 1024);
}

enum { MANY_READINGS = 300000 };

static void produce_many(FILE *f)
{
    (void)fputs(WORLD, f);
    for (int i = 0; i < MANY_READINGS; i++)
        (void)fprintf(f,
                      "{\"type\":\"reading\",\"platform\":\"youtube\",\"post_id\":\"y%d\",\"observed_at\":"
                      "\"2026-07-0%dT%02d:00:00Z\","
                      "\"views\":%d}\n",
                      1 + i % 2, 1 + i % 9, i % 24, i);
}

/* Imports 300,000 readings with one megabyte of sort memory. This causes sorted runs, merges, and steps of
 * thousands of readings. */
static void more_readings_than_fit_in_memory_are_sorted(void **state)
{
    (void)state;
    pid_t child;
    int status;
    t.options.sort_bytes = 1 << 20;
    const long before = max_kib();
    import_files(&t, pipe_from(produce_many, &child), NULL);
    assert_int_equal(t.err, OK);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(t.summary.readings, MANY_READINGS);
    assert_int_equal(sql("SELECT count(*) FROM videos WHERE views >= 299000"), 2);
    assert_int_equal(sql("SELECT sum(gained) FROM daily"), sql("SELECT sum(views) FROM videos"));
    assert_true(max_kib() - before < 60 * 1024);
}

static enum err begin(void *ctx)
{
    return store_begin(ctx);
}

static enum err commit(void *ctx)
{
    return store_commit(ctx);
}

static void roll_back(void *ctx)
{
    store_rollback(ctx);
}

static enum err lose_lease(void *ctx)
{
    (void)ctx;
    return ERR_CANCELED;
}

/* With room for one reading, 600 readings are written to sorted runs more than 1,000 times. Without a
 * heartbeat, the lease of a refresh run would expire if this took more than 30 s. */
static void merging_sends_heartbeats(void **state)
{
    (void)state;
    struct buf text;
    const struct transaction_scope scope = {.store = t.db.w,
                                            .ctx = t.db.w,
                                            .begin = begin,
                                            .commit = commit,
                                            .rollback = roll_back,
                                            .heartbeat = lose_lease};
    buf_init(&text, 1 << 20);
    buf_append(&text, STR(WORLD));
    for (int i = 0; i < 600; i++)
        buf_append(&text, STR(READING("youtube", "y1", "2026-07-02T00:00:00Z", VIEWS(1000))));
    t.options.scope = &scope;
    t.options.sort_bytes = 1;
    import_files(&t, write_file(&t, "f", buf_str(&text)), NULL);
    assert_int_equal(t.err, ERR_CANCELED);
    assert_string_equal(t.summary.why, "stopped: canceled");
    buf_fini(&text);
}

#define IMPORT_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IMPORT_TEST(order_of_lines_does_not_matter),
        IMPORT_TEST(importing_again_changes_nothing),
        IMPORT_TEST(upsert_changes_only_named_fields),
        IMPORT_TEST(posts_are_added_and_changed),
        IMPORT_TEST(video_without_posts_has_no_posted_at),
        IMPORT_TEST(readings_of_a_step_are_collected_from_all_files),
        IMPORT_TEST(step_that_exceeds_an_import_batch_is_one_transaction),
        IMPORT_TEST(new_video_is_compared_only_with_videos_read_before_the_import),
        IMPORT_TEST(lines_that_contradict_the_database_are_rejected),
        IMPORT_TEST(rejected_readings_are_reported_with_their_line),
        IMPORT_TEST(readings_of_a_post_whose_id_is_corrected_after_sorting_are_rejected),
        IMPORT_TEST(bad_lines_do_not_stop_the_import),
        IMPORT_TEST(last_line_needs_no_newline),
        IMPORT_TEST(nothing_is_applied_if_a_file_cannot_be_read),
        IMPORT_TEST(line_of_100_megabytes_takes_bounded_memory),
        IMPORT_TEST(more_readings_than_fit_in_memory_are_sorted),
        IMPORT_TEST(merging_sends_heartbeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

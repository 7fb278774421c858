/* Tests runs with the simulated source: which posts get readings, and that equal runs give equal readings. */
#include "refresh/simulated.h"

#include "base/clock.h"
#include "lib/dump.h"
#include "lib/refreshing.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct refreshing r;

/* Ann has a young video on three platforms, one older than 30 days, one that is not published yet, and one
 * without posts. Bob has no video. */
#define WORLD                                                                                                \
    AUTHOR(A1, NAME("Ann"))                                                                                  \
    AUTHOR(A2, NAME("Bob"))                                                                                  \
    VIDEO(V1, A1,                                                                                            \
          POSTS(POST("tiktok", "k1", "2026-07-10T00:00:00Z") "," POST(                                       \
              "youtube", "y1", "2026-07-10T00:00:00Z") "," POST("facebook", "f1", "2026-07-12T00:00:00Z")))  \
    VIDEO(V2, A1, POSTS(POST("youtube", "y2", "2026-06-10T23:59:59Z")))                                      \
    VIDEO(V3, A1, POSTS(POST("youtube", "y3", "2026-07-11T12:00:00Z")))                                      \
    VIDEO("cccccccc-0000-4000-8000-000000000004", A1, "")

static int set_up(void **state)
{
    (void)state;
    refreshing_init(&r);
    import_text(&r.t, WORLD);
    r.config.refresh.interval_s = 20;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    refreshing_fini(&r);
    return 0;
}

static void run(void)
{
    refreshing_run(&r, &simulated_source);
    assert_int_equal(r.report.state, RUN_SUCCEEDED);
}

static int64_t sql(const char *query)
{
    return refreshing_sql(&r, query);
}

static int64_t accepted(void)
{
    return refresh_count(&r.report.counts, RUN_ACCEPTED);
}

static void only_live_posts_get_readings(void **state)
{
    (void)state;
    run();
    assert_int_equal(accepted(), 2);
    assert_int_equal(refresh_count_rejected(&r.report.counts), 0);
    assert_int_equal(r.report.counts.n[SOURCE_SIMULATED][PLATFORM_TIKTOK][RUN_ACCEPTED], 1);
    assert_int_equal(sql("SELECT count(*) FROM videos WHERE views_updated_at IS NOT NULL"), 1);
    assert_true(sql("SELECT max(views) FROM videos") > 0);
    test_clock_ms[0] += DAY_MS; /* "f1" and "y3" are published now */
    run();
    assert_int_equal(accepted(), 4);
    test_clock_ms[0] += 29 * DAY_MS; /* only "y3" is still live */
    run();
    assert_int_equal(accepted(), 1);
    test_clock_ms[0] += 2 * DAY_MS;
    run();
    assert_int_equal(accepted(), 0);
}

static void second_run_at_the_same_time_adds_nothing(void **state)
{
    (void)state;
    run();
    const int64_t views = sql("SELECT max(views) FROM videos");
    run();
    assert_int_equal(accepted(), 0);
    test_clock_ms[0] -= SECOND_MS / 2; /* a run after the clock was set back adds nothing either */
    run();
    assert_int_equal(accepted(), 0);
    assert_int_equal(sql("SELECT max(views) FROM videos"), views);
}

static void author_gets_one_step_and_counts_are_reproducible(void **state)
{
    (void)state;
    struct buf first, second;
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    for (int i = 0; i < 30; i++, test_clock_ms[0] += 20 * SECOND_MS)
        run();
    assert_int_equal(refresh_count(&r.report.counts, RUN_VIDEOS), 1);
    assert_int_equal(sql("SELECT views_refreshed_at FROM authors ORDER BY id LIMIT 1"),
                     test_clock_ms[0] - 20000);
    assert_true(sql("SELECT count(*) FROM events") > 0); /* after ten minutes */
    dump_database(r.t.db.path, &first);
    (void)tear_down(NULL);
    (void)set_up(NULL);
    for (int i = 0; i < 30; i++, test_clock_ms[0] += 20 * SECOND_MS)
        run();
    dump_database(r.t.db.path, &second);
    assert_same_dump(&first, &second);
    buf_fini(&first);
    buf_fini(&second);
}

#define SIMULATED_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIMULATED_TEST(only_live_posts_get_readings),
        SIMULATED_TEST(second_run_at_the_same_time_adds_nothing),
        SIMULATED_TEST(author_gets_one_step_and_counts_are_reproducible),
    };
    return cmocka_run_group_tests(tests, refreshing_map_clock, NULL);
}

/* Tests the log lines about slow statements. */
#include "unit.h"

#include "lib/capture.h"
#include "lib/temp_db.h"

#include "base/clock.h"
#include "store/slow_query.h"
#include "store/sqlite/sqlite_store.h"

static struct temp_db t;
static struct author author;

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    test_begin(&t);
    author = add_author(&t, 1);
    test_commit(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_set_slow_query_ms(0);
    temp_db_fini(&t);
    return 0;
}

/* Runs a statement with a bound value for at least 5 ms. Returns what was logged. */
static const char *log_of_statement(void)
{
    capture_begin();
    struct sql_statement *q = sql_use(t.r->sql, QUERY_AUTHOR_BY_UUID);
    sql_bind_uuid(q, 1, &author.id);
    assert_int_equal(sql_one(t.r->sql, q), OK);
    const int64_t start_us = clock_work_us();
    while (clock_work_us() - start_us < 5000)
        ;
    sql_reset(q);
    return capture_end();
}

static void slow_statement_is_logged_without_values(void **state)
{
    (void)state;
    store_set_slow_query_ms(2);
    const char *text = log_of_statement();
    assert_non_null(strstr(text, " warn slow query: "));
    assert_non_null(strstr(text, " ms: SELECT "));
    assert_non_null(strstr(text, "?1"));
    assert_null(strstr(text, "x'"));
    assert_null(strstr(text, "X'"));
}

static void no_statement_is_logged_below_the_threshold(void **state)
{
    (void)state;
    store_set_slow_query_ms(0);
    assert_string_equal(log_of_statement(), "");
    store_set_slow_query_ms(3600000);
    assert_string_equal(log_of_statement(), "");
}

static void logged_statement_is_one_line(void **state)
{
    int64_t count;
    (void)state;
    store_set_slow_query_ms(1);
    capture_begin();
    assert_int_equal(
        db_exec_i64(sqlite_db_of(t.r),
                    "WITH RECURSIVE c(n) AS\n\t(SELECT 1 UNION ALL\n   SELECT n + 1 FROM c LIMIT 300000)\n"
                    "SELECT count(*) FROM c",
                    &count),
        OK);
    const char *text = capture_end();
    assert_int_equal(count, 300000);
    assert_non_null(
        strstr(text, " ms: WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 300000) "
                     "SELECT count(*) FROM c\n"));
}

static void at_most_one_plan_a_minute_is_requested(void **state)
{
    enum query query = QUERY_COUNT;
    (void)state;
    assert_false(slow_query_take_request(&query));
    slow_query_request_plan(QUERY_AUTHOR_BY_UUID);
    assert_true(slow_query_take_request(&query));
    assert_int_equal(query, QUERY_AUTHOR_BY_UUID);
    slow_query_request_plan(QUERY_AUTHOR_BY_UUID);
    assert_false(slow_query_take_request(&query));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slow_statement_is_logged_without_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_statement_is_logged_below_the_threshold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logged_statement_is_one_line, set_up, tear_down),
        cmocka_unit_test(at_most_one_plan_a_minute_is_requested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

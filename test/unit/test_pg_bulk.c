/* Tests the parameters of the statement that saves the counts of many videos. test/pg/test_commands.py runs
 * it on a server. */
#include "store/pg/pg_bulk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct sql_engine no_engine;

/* Returns a cursor with the parameters of QUERY_SAVE_COUNTS for a video with these views and without a
 * median. */
static struct pg_cursor saved(int64_t video_row, int64_t views)
{
    struct pg_cursor c;
    pg_cursor_init(&c, &no_engine);
    pg_cursor_bind_i64(&c.statement, 1, video_row);
    for (int i = 2; i <= 7; i++)
        pg_cursor_bind_i64(&c.statement, i, views);
    pg_cursor_bind_null(&c.statement, 6);
    for (int i = 8; i <= PG_BULK_COLUMNS; i++)
        pg_cursor_bind_blob(&c.statement, i, "ab", 2);
    return c;
}

static bool add(struct pg_bulk *bulk, int64_t video_row)
{
    struct pg_cursor c = saved(video_row, 5);
    /* The handle points to the cursor itself. saved() has returned a copy, so the handle must be set again.
     */
    c.statement.handle = &c;
    return pg_bulk_add(bulk, &c);
}

static void assert_array(const struct pg_params *p, int i, const char *bytes, size_t len)
{
    assert_int_equal(p->at[i].len, len);
    assert_memory_equal(pg_params_value(p, i), bytes, len);
}
#define ASSERT_ARRAY(p, i, bytes) assert_array(p, i, bytes, sizeof(bytes) - 1)

static void each_column_is_sent_as_an_array(void **state)
{
    (void)state;
    struct pg_bulk bulk;
    struct pg_params params;
    pg_bulk_init(&bulk);
    assert_true(add(&bulk, 7));
    assert_true(add(&bulk, 8));
    pg_bulk_take(&bulk, &params);
    assert_int_equal(params.count, PG_BULK_COLUMNS);
    ASSERT_ARRAY(&params, 0,
                 "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\2\0\0\0\1"
                 "\0\0\0\x8\0\0\0\0\0\0\0\7\0\0\0\x8\0\0\0\0\0\0\0\x8");
    ASSERT_ARRAY(&params, 5,
                 "\0\0\0\1\0\0\0\1\0\0\0\x14\0\0\0\2\0\0\0\1"
                 "\xff\xff\xff\xff\xff\xff\xff\xff");
    ASSERT_ARRAY(&params, 9, "\0\0\0\1\0\0\0\0\0\0\0\x11\0\0\0\2\0\0\0\1\0\0\0\2ab\0\0\0\2ab");
    assert_int_equal(bulk.count, 0);
    pg_params_fini(&params);
    pg_bulk_fini(&bulk);
}

static void statement_accepts_each_video_at_most_once(void **state)
{
    (void)state;
    struct pg_bulk bulk;
    struct pg_params params;
    pg_bulk_init(&bulk);
    assert_true(add(&bulk, 7) && add(&bulk, 8));
    assert_false(add(&bulk, 7));
    assert_int_equal(bulk.count, 2);
    pg_bulk_take(&bulk, &params);
    pg_params_fini(&params);
    assert_true(add(&bulk, 7));
    pg_bulk_fini(&bulk);
}

static void statement_has_a_limited_number_of_rows(void **state)
{
    (void)state;
    struct pg_bulk bulk;
    pg_bulk_init(&bulk);
    for (int i = 0; i < PG_BULK_MAX; i++)
        assert_true(add(&bulk, i));
    assert_false(add(&bulk, PG_BULK_MAX));
    pg_bulk_clear(&bulk);
    assert_true(add(&bulk, 0));
    pg_bulk_fini(&bulk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_column_is_sent_as_an_array),
        cmocka_unit_test(statement_accepts_each_video_at_most_once),
        cmocka_unit_test(statement_has_a_limited_number_of_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

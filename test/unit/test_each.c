/* Rows in one step: their order, stopping and going on, reads within reads, errors. */
#include "store/each.h"

#include "unit.h"

#include <sqlite3.h>

static struct db db;
static struct sqlite3_stmt *numbers, *inner, *failing;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(db_open(&db, ":memory:"), OK);
    assert_int_equal(db_exec(&db, "CREATE TABLE t (n INTEGER PRIMARY KEY, odd INTEGER, word);"
                                  "INSERT INTO t VALUES (1, 1, 'one'), (2, 0, NULL), (3, 1, x'00ff'), "
                                  "(4, 0, ''), (5, 1, 'five')"),
                     OK);
    static const char *const texts[] = {
        "SELECT 1 FROM t WHERE odd <= ?1 AND each(n, word, odd) ORDER BY n",
        "SELECT 1 FROM t WHERE n > ?1 AND each(n)",
        "SELECT 1 FROM t WHERE abs(-9223372036854775807 - (n = 3)) > 0 AND each(n)"};
    struct sqlite3_stmt **const statements[] = {&numbers, &inner, &failing};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(sqlite3_prepare_v2(db.handle, texts[i], -1, statements[i], NULL), SQLITE_OK);
    db_bind_i64(numbers, 1, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sqlite3_finalize(numbers);
    sqlite3_finalize(inner);
    sqlite3_finalize(failing);
    db_close(&db);
    return 0;
}

struct seen {
    int64_t n[20];
    int count, most; /* stops behind so many */
    bool nested;
};

static bool on_inner(void *ctx, struct sqlite3_value **row)
{
    struct seen *s = ctx;
    s->n[s->count++] = 10 * value_i64(row[0]);
    return false;
}

static bool on_number(void *ctx, struct sqlite3_value **row)
{
    struct seen *s = ctx;
    s->n[s->count++] = value_i64(row[0]);
    if (s->nested) {
        struct seen next = {0};
        enum err err;
        db_bind_i64(inner, 1, value_i64(row[0]));
        if (db_each(&db, inner, on_inner, &next, &err))
            db_reset(inner);
        assert_int_equal(err, OK);
        if (next.count)
            s->n[s->count++] = next.n[0];
    }
    return s->count < s->most;
}

static void rows_come_in_order_until_one_is_enough(void **state)
{
    (void)state;
    struct seen s = {.most = 2};
    enum err err = ERR_IO;
    assert_true(db_each(&db, numbers, on_number, &s, &err));
    assert_int_equal(err, OK);
    assert_int_equal(s.count, 2);
    s.most = 4; /* it goes on behind the last one */
    assert_true(db_each(&db, numbers, on_number, &s, &err));
    s.most = 20;
    assert_false(db_each(&db, numbers, on_number, &s, &err));
    assert_int_equal(err, OK);
    assert_int_equal(s.count, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(s.n[i], i + 1);
    assert_false(db_each(&db, numbers, on_number, &s, &err)); /* was reset: from the beginning */
    assert_int_equal(s.count, 10);
}

static void only_rows_that_the_statement_asks_for(void **state)
{
    (void)state;
    struct seen s = {.most = 20};
    enum err err;
    db_bind_i64(numbers, 1, 0);
    assert_false(db_each(&db, numbers, on_number, &s, &err));
    assert_int_equal(s.count, 2);
    assert_int_equal(s.n[0], 2);
    assert_int_equal(s.n[1], 4);
}

static void a_read_within_a_read_takes_nothing_from_it(void **state)
{
    (void)state;
    static const int64_t expected[] = {1, 20, 2, 30, 3, 40, 4, 50, 5};
    struct seen s = {.most = 20, .nested = true};
    enum err err;
    assert_false(db_each(&db, numbers, on_number, &s, &err));
    assert_int_equal(s.count, 9);
    assert_memory_equal(s.n, expected, sizeof expected);
}

static bool on_value(void *ctx, struct sqlite3_value **row)
{
    struct str s = value_text(row[1]);
    char word[4];
    (void)ctx;
    switch (value_i64(row[0])) {
    case 1:
        assert_true(str_eq(s, STR("one")));
        assert_true(value_bytes(row[1], word, 3));
        assert_memory_equal(word, "one", 3);
        assert_false(value_bytes(row[1], word, 4));
        break;
    case 2:
        assert_null(s.p);
        assert_int_equal(s.len, 0);
        assert_int_equal(value_i64_or(row[1], -7), -7);
        break;
    case 3: assert_true(str_eq(s, str_make("\x00\xff", 2))); break;
    case 4:
        assert_non_null(s.p);
        assert_int_equal(s.len, 0);
        break;
    case 5:
        assert_int_equal(value_i64_or(row[2], -7), 1);
        assert_int_equal(value_i64(row[1]), 0);
        break;
    }
    return true;
}

static void values_are_what_was_stored(void **state)
{
    (void)state;
    enum err err;
    assert_false(db_each(&db, numbers, on_value, NULL, &err));
    assert_int_equal(err, OK);
}

static void an_error_ends_it(void **state)
{
    (void)state;
    struct seen s = {.most = 20};
    enum err err;
    assert_int_equal(db.failures, 0);
    assert_false(db_each(&db, failing, on_number, &s, &err)); /* the third row is too much for abs() */
    assert_true(err != OK);
    assert_int_equal(db.failures, 1);
    assert_false(db_each(&db, numbers, on_number, &s, &err));
    assert_int_equal(err, OK);
}

/* Only our own statements may use it: not what a database brings along. */
static void a_view_cannot_call_it(void **state)
{
    (void)state;
    assert_int_equal(db_exec(&db, "CREATE VIEW v AS SELECT n FROM t WHERE each(n)"), OK);
    assert_true(db_exec(&db, "SELECT * FROM v") != OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_come_in_order_until_one_is_enough, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_rows_that_the_statement_asks_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_read_within_a_read_takes_nothing_from_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_are_what_was_stored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_error_ends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_view_cannot_call_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

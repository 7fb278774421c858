/* Tests reads that complete in a later loop iteration: their results, bound values that the caller
 * overwrites before the read completes, and cancellation. */
#include "lib/temp_db.h"

#include "store/late_reads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp_db t;
static uv_loop_t loop;
static struct store *late;
static struct author author;
static struct book books[2];

static int wakes, rows;
static int64_t rev;
static struct uuid seen;

static void on_wake(struct waiter *w)
{
    (void)w;
    wakes++;
}

static struct waiter wait = {.wake = on_wake};

static bool on_book(void *ctx, const struct book *book, struct str author_name)
{
    assert_ptr_equal(ctx, &rows);
    assert_true(author_name.len > 0);
    seen = book->id;
    rows++;
    return true;
}

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    test_begin(&t);
    author = add_author(&t, 1);
    for (uint64_t i = 0; i < 2; i++)
        books[i] = add_book(&t, &author, i + 1, TEST_DAY + (int64_t)i);
    test_commit(&t);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(setenv("VIEWTALLY_TEST_LATE_READS", "1", 1), 0);
    const struct store_options options = {.path = t.path, .loop = &loop, .mode = STORE_READ};
    struct error error;
    assert_int_equal(store_open(&late, &options, &error), OK);
    wakes = rows = 0;
    rev = -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_close(late);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    temp_db_fini(&t);
    return 0;
}

/* Starts a read of the books that follow books[1] in the list (newest first), which is books[0]. Overwrites
 * the bound position before the read completes. */
static enum next start_read(struct store_read *read)
{
    struct book_position after = {.created_at = books[1].created_at, .id = books[1].id};
    const enum next next = store_list_books(read, author.row, &after, 10, on_book, &rows, &rev);
    memset(&after, 0, sizeof after);
    return next;
}

static void read_completes_in_the_next_iteration(void **state)
{
    (void)state;
    struct store_read read = {.store = late, .wait = &wait, .err = ERR_INTERNAL};
    assert_int_equal(start_read(&read), NEXT_WAIT);
    assert_true(waiter_is_armed(&wait));
    assert_int_equal(wakes + rows, 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(wakes, 1);
    assert_int_equal(rows, 1);
    assert_true(uuid_eq(&seen, &books[0].id));
    assert_int_equal(read.err, OK);
    assert_true(rev > 0);
    assert_false(waiter_is_armed(&wait));
}

static void missing_row_gives_not_found_after_the_wait(void **state)
{
    (void)state;
    struct store_read read = {.store = late, .wait = &wait};
    assert_int_equal(store_list_books(&read, author.row + 1, NULL, 10, on_book, &rows, &rev), NEXT_WAIT);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    assert_int_equal(wakes, 1);
}

static void canceled_read_calls_no_callback(void **state)
{
    (void)state;
    struct store_read read = {.store = late, .wait = &wait};
    assert_int_equal(start_read(&read), NEXT_WAIT);
    waiter_cancel(&wait);
    memset(&read, 0xff, sizeof read);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(wakes + rows, 0);
}

static void read_without_a_waiter_completes_immediately(void **state)
{
    (void)state;
    struct store_read read = {.store = late};
    assert_int_equal(start_read(&read), NEXT_MORE);
    assert_int_equal(rows, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read_completes_in_the_next_iteration, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_row_gives_not_found_after_the_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(canceled_read_calls_no_callback, set_up, tear_down),
        cmocka_unit_test_setup_teardown(read_without_a_waiter_completes_immediately, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

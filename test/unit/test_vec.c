/* Tests the growable array, and error_set(). */
#include "unit.h"

#include "base/error.h"
#include "base/fault.h"
#include "base/vec.h"

struct pair {
    int a, b;
};

static void vec_keeps_items_in_order_while_it_grows(void **state)
{
    VEC(struct pair) v = {0};
    (void)state;
    for (int i = 0; i < 1000; i++)
        *VEC_ADD(&v) = (struct pair){i, -i};
    assert_int_equal(v.count, 1000);
    assert_true(v.capacity >= 1000 && v.capacity <= 2000);
    for (int i = 0; i < 1000; i++)
        assert_true(v.items[i].a == i && v.items[i].b == -i);
    VEC_FREE(&v);
    assert_true(!v.items && v.count == 0 && v.capacity == 0);
}

static void vec_reserve_makes_room_for_all_items_at_once(void **state)
{
    VEC(char) v = {0};
    (void)state;
    VEC_RESERVE(&v, 5000);
    assert_true(v.count == 0 && v.capacity == 5000);
    const char *items = v.items;
    for (int i = 0; i < 5000; i++)
        *VEC_ADD(&v) = 'x';
    assert_ptr_equal(v.items, items);
    VEC_FREE(&v);
}

static void vec_try_add_stops_at_the_maximum(void **state)
{
    VEC(int64_t) v = {0};
    (void)state;
    for (int i = 0; i < 20; i++) {
        int64_t *item = VEC_TRY_ADD(&v, 20);
        assert_non_null(item);
        *item = i;
    }
    assert_null(VEC_TRY_ADD(&v, 20));
    assert_true(v.count == 20 && v.capacity == 20 && v.items[19] == 19);
    VEC_FREE(&v);
}

static void vec_try_add_reports_out_of_memory_and_changes_nothing(void **state)
{
    VEC(int) v = {0};
    (void)state;
    fault_arm(1, false);
    assert_null(VEC_TRY_ADD(&v, 100));
    assert_true(!v.items && v.count == 0);
    while (v.count < v.capacity || v.count == 0)
        *VEC_TRY_ADD(&v, 100) = 7;
    const size_t count = v.count;
    fault_arm(1, false);
    assert_null(VEC_TRY_ADD(&v, 100));
    assert_true(v.count == count && v.items[count - 1] == 7);
    assert_non_null(VEC_TRY_ADD(&v, 100));
    VEC_FREE(&v);
    fault_arm(0, false);
}

static void error_set_stores_and_returns_the_code(void **state)
{
    struct error error = {0};
    (void)state;
    assert_int_equal(error_set(&error, ERR_IO, "%s: %d", "disk", 5), ERR_IO);
    assert_int_equal(error.code, ERR_IO);
    assert_string_equal(error.text, "disk: 5");
    assert_int_equal(error_set(NULL, ERR_BUSY, "%d", 1), ERR_BUSY);
}

static void error_set_may_quote_the_text_that_it_replaces(void **state)
{
    struct error error = {0};
    (void)state;
    (void)error_set(&error, ERR_INVALID, "no such table");
    (void)error_set(&error, ERR_INVALID, "migration 3: %s", error.text);
    assert_string_equal(error.text, "migration 3: no such table");
}

static void error_set_cuts_a_long_text(void **state)
{
    struct error error = {0};
    (void)state;
    (void)error_set(&error, ERR_INVALID, "%2000d", 1);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vec_keeps_items_in_order_while_it_grows),
        cmocka_unit_test(vec_reserve_makes_room_for_all_items_at_once),
        cmocka_unit_test(vec_try_add_stops_at_the_maximum),
        cmocka_unit_test(vec_try_add_reports_out_of_memory_and_changes_nothing),
        cmocka_unit_test(error_set_stores_and_returns_the_code),
        cmocka_unit_test(error_set_may_quote_the_text_that_it_replaces),
        cmocka_unit_test(error_set_cuts_a_long_text),
    };
    return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}

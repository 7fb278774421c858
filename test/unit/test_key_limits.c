/* Tests the limits on the keys of an author: live keys, and keys created per day. The test has its own
 * database, because it counts keys exactly. */
#include "unit.h"

#include "lib/temp_db.h"

#include "base/clock.h"
#include "store/author_keys.h"

static struct temp_db t;
static uint64_t last_key;

static int set_up(void **state)
{
    (void)state;
    last_key = 0;
    temp_db_init(&t);
    test_begin(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_commit(&t);
    temp_db_fini(&t);
    return 0;
}

static int64_t create(const struct author *author, int64_t at)
{
    uint8_t hash[KEY_HASH_LEN];
    struct api_key key = {.author_row = author->row,
                          .id = test_uuid('k', ++last_key),
                          .name = STR("A key"),
                          .suffix = {'a', 'b', 'c', 'd'},
                          .created_at = at};
    hash_of(last_key, hash);
    assert_int_equal(store_insert_key(t.w, &key, hash, &test_actor), OK);
    return key.row;
}

static void create_revoked(const struct author *author, int64_t at, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(store_revoke_key(t.w, create(author, at), at, &test_actor), OK);
}

static enum key_limit reached(const struct author *author, int64_t now)
{
    enum key_limit limit;
    assert_int_equal(store_check_key_limits(t.w, author->row, 0, now, &limit), OK);
    return limit;
}

static void author_has_at_most_a_hundred_live_keys(void **state)
{
    struct author author = add_author(&t, 1), other = add_author(&t, 2);
    int64_t row = 0;
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(reached(&author, TEST_DAY), KEY_LIMIT_NONE);
        row = create(&author, TEST_DAY - DAY_MS);
    }
    assert_int_equal(reached(&author, TEST_DAY), KEY_LIMIT_LIVE);
    assert_int_equal(reached(&other, TEST_DAY), KEY_LIMIT_NONE);
    assert_int_equal(store_revoke_key(t.w, row, TEST_DAY, &test_actor), OK);
    assert_int_equal(reached(&author, TEST_DAY), KEY_LIMIT_NONE);
}

static void revoked_keys_count_toward_the_limit_of_the_day_of_their_creation(void **state)
{
    struct author author = add_author(&t, 1), other = add_author(&t, 2);
    (void)state;
    create_revoked(&author, TEST_DAY - 1, 1);
    create_revoked(&author, TEST_DAY + DAY_MS, 1);
    create_revoked(&author, TEST_DAY, 100);
    create_revoked(&author, TEST_DAY + DAY_MS - 1, 99);
    assert_int_equal(reached(&author, TEST_DAY), KEY_LIMIT_NONE);
    create_revoked(&author, TEST_DAY, 1);
    assert_int_equal(reached(&author, TEST_DAY), KEY_LIMIT_DAY);
    assert_int_equal(reached(&author, TEST_DAY + DAY_MS - 1), KEY_LIMIT_DAY);
    assert_int_equal(reached(&author, TEST_DAY + DAY_MS), KEY_LIMIT_NONE);
    assert_int_equal(reached(&author, TEST_DAY - 1), KEY_LIMIT_NONE);
    assert_int_equal(reached(&other, TEST_DAY), KEY_LIMIT_NONE);
}

static void limit_of_live_keys_is_reported_before_daily_limit(void **state)
{
    struct author author = add_author(&t, 1);
    (void)state;
    create_revoked(&author, TEST_DAY, 100);
    for (int i = 0; i < 100; i++)
        create(&author, TEST_DAY);
    assert_int_equal(reached(&author, TEST_DAY), KEY_LIMIT_LIVE);
}

static int64_t log_pages_after_revoking(int64_t row, int64_t at)
{
    assert_int_equal(store_revoke_key(t.w, row, at, &test_actor), OK);
    test_commit(&t);
    int64_t pages = store_get_log_state(t.w).pages;
    test_begin(&t);
    return pages;
}

static void second_revocation_writes_nothing(void **state)
{
    struct author author = add_author(&t, 1);
    int64_t first = create(&author, TEST_DAY), second = create(&author, TEST_DAY);
    (void)state;
    int64_t pages = log_pages_after_revoking(first, TEST_DAY);
    assert_true(log_pages_after_revoking(first, TEST_DAY + 1) == pages);
    assert_true(log_pages_after_revoking(second, TEST_DAY + 1) > pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(author_has_at_most_a_hundred_live_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(revoked_keys_count_toward_the_limit_of_the_day_of_their_creation,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(limit_of_live_keys_is_reported_before_daily_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(second_revocation_writes_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

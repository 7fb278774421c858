/* The reads: what they give out, in which order, from which position, and what they refuse. */
#include "lib/temp_db.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp_db t;

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

/* --- keys and the account --- */

static void a_key_names_its_owner(void **state)
{
    (void)state;
    uint8_t hash[KEY_HASH_LEN];
    test_begin(&t);
    struct author author = add_author(&t, 1);
    struct api_key key = add_key(&t, &author, 7);
    test_commit(&t);
    struct store_read read = temp_db_read(&t);
    struct key_owner owner;
    hash_of(7, hash);
    assert_int_equal(store_find_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(read.err, OK);
    assert_int_equal(owner.key_row, key.row);
    assert_int_equal(owner.author_row, author.row);
    assert_true(owner.plan_active);
    assert_int_equal(owner.revoked_at, TIME_NONE);
    assert_int_equal(owner.last_used_at, TIME_NONE);
    assert_int_equal(owner.author_rev, 1);
    assert_int_equal(owner.last_event_id, 0);
    assert_int_equal(uuid_cmp(&owner.key_id, &key.id), 0);
    assert_int_equal(uuid_cmp(&owner.author_id, &author.id), 0);
    hash_of(8, hash);
    assert_int_equal(store_find_key(&read, hash, &owner), NEXT_MORE);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_names_its_owner, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

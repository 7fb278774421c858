/* Tests key rotation, which reseals all accounts page by page. If it is interrupted at any point, all tokens
 * remain readable, and the next rotation completes. */
#include "unit.h"

#include "lib/crash.h"
#include "lib/credential_rig.h"

#include <sqlite3.h>
#include <stdio.h>

enum { MANY = 450 }; /* more than two pages */

static void put_accounts(int n)
{
    char id[32], access[32], refresh[32];
    for (int i = 0; i < n; i++) {
        int64_t row;
        (void)snprintf(id, sizeof id, "open-%d", i);
        (void)snprintf(access, sizeof access, "act.%d", i);
        (void)snprintf(refresh, sizeof refresh, "rft.%d", i);
        assert_int_equal(rig_put(&rig.author, API_TIKTOK, id, access, i % 3 ? refresh : "", &row), OK);
    }
}

static void assert_accounts(int n)
{
    char access[32], refresh[32];
    struct sealed_rows rows;
    for (int i = 0; i < n; i++) {
        (void)snprintf(access, sizeof access, "act.%d", i);
        (void)snprintf(refresh, sizeof refresh, "rft.%d", i);
        rig_assert_tokens(i + 1, access, i % 3 ? refresh : "");
    }
    assert_int_equal(vault_inspect(&rig.config, rig.db.w, true, &rows, &rig.error), OK);
    assert_int_equal(rows.accounts, n);
}

static size_t list_keys_in_file(uint32_t ids[SEAL_KEYS_MAX])
{
    struct seal_keys *keys;
    size_t count;
    assert_int_equal(seal_keys_open(&keys, rig.key_path, &rig.error), OK);
    seal_list_key_ids(keys, ids, &count);
    seal_keys_close(keys);
    return count;
}

static size_t keys_in_file(void)
{
    uint32_t ids[SEAL_KEYS_MAX];
    return list_keys_in_file(ids);
}

/* Returns the number of rotations that the database has counted. */
static int counted_rotations(void)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    int count = 0;
    assert_int_equal(sqlite3_open_v2(rig.db.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'key_rotations'", -1, &q, NULL),
        SQLITE_OK);
    if (sqlite3_step(q) == SQLITE_ROW)
        count = sqlite3_column_int(q, 0);
    assert_int_equal(sqlite3_finalize(q), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return count;
}

static void reseals_all_accounts_with_the_new_key(void **state)
{
    struct key_rotation_result done;
    (void)state;
    put_accounts(MANY);
    assert_int_equal(key_rotation_run(&rig.config, rig.db.w, &done, &rig.error), OK);
    assert_int_equal(done.resealed.accounts, MANY);
    assert_int_equal(keys_in_file(), 1);
    assert_accounts(MANY);
    assert_int_equal(rig_get(7).version, 1); /* unchanged, so that a refresh in flight can store its tokens */
}

static void rotation_succeeds_without_accounts(void **state)
{
    struct key_rotation_result done;
    (void)state;
    assert_int_equal(key_rotation_run(&rig.config, rig.db.w, &done, &rig.error), OK);
    assert_int_equal(done.resealed.accounts, 0);
    assert_int_equal(keys_in_file(), 1);
}

static void token_refresh_during_a_rotation_stores_its_tokens(void **state)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    struct key_rotation_result done;
    struct token_refresh_result result;
    int64_t row = rig_put_tiktok();
    (void)state;
    rig.replies = replies;
    assert_int_equal(token_refresher_start(rig.refresher, row, 1, &result, rig_on_completed, &row),
                     NEXT_WAIT);
    assert_int_equal(key_rotation_run(&rig.config, rig.db.w, &done, &rig.error), OK);
    rig_deliver();
    assert_int_equal(rig.results[0].status, TOKEN_REFRESHED);
    rig_assert_tokens(row, "act.2", "rft.2");
    assert_int_equal(seal_key_id(rig_get(row).access_sealed), done.key_id);
}

static int rotate_once(void *ctx)
{
    struct key_rotation_result done;
    (void)ctx;
    store_close(rig.db.r);
    store_close(rig.db.w);
    rig.db.w = temp_db_open(&rig.db, STORE_WRITE);
    rig.db.r = temp_db_open(&rig.db, STORE_READ);
    return key_rotation_run(&rig.config, rig.db.w, &done, &rig.error) ? 1 : 0;
}

static void interrupted_rotation_can_be_run_again(void **state)
{
    size_t most = 0;
    int at = 1;
    struct key_rotation_result done;
    (void)state;
    put_accounts(5);
    for (enum crash_end end = CRASH_REACHED; end != CRASH_ENDED; at++) {
        assert_true(at < 200);
        end = crash_before_change(at, rotate_once, NULL);
        if (end == CRASH_NOT_POSSIBLE)
            skip();
        most = keys_in_file() > most ? keys_in_file() : most;
        assert_accounts(5);
        if (at % 5 == 0) {
            assert_int_equal(key_rotation_run(&rig.config, rig.db.w, &done, &rig.error), OK);
            assert_int_equal(keys_in_file(), 1);
            assert_accounts(5);
        }
    }
    assert_int_equal(keys_in_file(), 1);
    assert_true(at > 12 && most == 2);
}

/* A restore would otherwise keep tokens of a backup that are sealed with a removed key. */
static void interrupted_rotation_is_counted_if_it_has_removed_a_key(void **state)
{
    uint32_t before[SEAL_KEYS_MAX], after[SEAL_KEYS_MAX];
    struct key_rotation_result done;
    int at = 1, removals = 0;
    (void)state;
    put_accounts(1);
    for (enum crash_end end = CRASH_REACHED; end != CRASH_ENDED; at++) {
        assert_true(at < 200);
        assert_int_equal(key_rotation_run(&rig.config, rig.db.w, &done, &rig.error), OK);
        assert_int_equal(list_keys_in_file(before), 1);
        const int counted = counted_rotations();
        end = crash_before_change(at, rotate_once, NULL);
        if (end == CRASH_NOT_POSSIBLE)
            skip();
        if (list_keys_in_file(after) == 1 && after[0] != before[0]) {
            assert_true(counted_rotations() > counted);
            removals++;
        }
    }
    assert_true(removals > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, credential_rig_init, credential_rig_fini)
    const struct CMUnitTest tests[] = {
        TEST(reseals_all_accounts_with_the_new_key),
        TEST(rotation_succeeds_without_accounts),
        TEST(token_refresh_during_a_rotation_stores_its_tokens),
        TEST(interrupted_rotation_can_be_run_again),
        TEST(interrupted_rotation_is_counted_if_it_has_removed_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

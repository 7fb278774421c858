/* Tests platform accounts and their sealed tokens: storing tokens, decrypting them, and when a refresh is
 * due. */
#include "unit.h"

#include "lib/credential_rig.h"

#include <stdio.h>

/* ---- storing ---- */

static void stored_account_is_loaded_unchanged(void **state)
{
    (void)state;
    const int64_t row = rig_put_tiktok();
    const struct credential c = rig_get(row);
    assert_int_equal(c.author_row, rig.author.row);
    assert_int_equal(c.api, API_TIKTOK);
    assert_str(c.account_id, "open-1");
    assert_str(c.account_name, "Ann");
    assert_str(c.scopes, "video.list");
    assert_int_equal(c.access_expires_at, NOW + 7200 * SECOND_MS);
    assert_int_equal(c.refresh_expires_at, NOW + 86400 * SECOND_MS);
    assert_int_equal(c.version, 1);
    assert_null(memmem(c.access_sealed.p, c.access_sealed.len, "act.", 4));
    rig_assert_tokens(row, "act.1", "rft.1");
}

static void account_is_updated_by_its_author_but_not_by_another_author(void **state)
{
    int64_t again = 0, row = rig_put_tiktok();
    (void)state;
    test_begin(&rig.db);
    assert_int_equal(store_record_credential_failure(rig.db.w, row, 1, STR("reconnect invalid_grant"), NOW,
                                                     CREDENTIAL_RECONNECT_REQUIRED),
                     OK);
    test_commit(&rig.db);
    assert_int_equal(rig_get(row).state, CREDENTIAL_RECONNECT_REQUIRED);
    assert_int_equal(rig_put(&rig.author, API_TIKTOK, "open-1", "act.2", "", &again), OK);
    assert_int_equal(again, row);
    const struct credential c = rig_get(row);
    assert_int_equal(c.version, 2);
    assert_int_equal(c.state, CREDENTIAL_CONNECTED);
    assert_int_equal(c.failures, 0);
    assert_null(c.last_error.p);
    assert_null(c.refresh_sealed.p);
    assert_int_equal(rig_put(&rig.other, API_TIKTOK, "open-1", "act.3", "rft.3", &again), ERR_EXISTS);
    rig_assert_tokens(row, "act.2", "");
    /* The same account id at another platform is another account. */
    assert_int_equal(rig_put(&rig.other, API_PINTEREST, "open-1", "pina_1", "pinr.1", &again), OK);
    assert_int_not_equal(again, row);
}

static void error_of_old_tokens_does_not_affect_new_tokens(void **state)
{
    int64_t again, row = rig_put_tiktok();
    (void)state;
    assert_int_equal(rig_put(&rig.author, API_TIKTOK, "open-1", "act.2", "rft.2", &again), OK);
    test_begin(&rig.db);
    assert_int_equal(
        store_record_credential_failure(rig.db.w, row, 1, STR("x"), NOW, CREDENTIAL_RECONNECT_REQUIRED), OK);
    test_commit(&rig.db);
    assert_int_equal(rig_get(row).state, CREDENTIAL_CONNECTED);
}

static void swapped_sealed_tokens_cannot_be_decrypted(void **state)
{
    int64_t a = rig_put_tiktok(), b;
    struct tokens k;
    struct credential one, two;
    (void)state;
    assert_int_equal(rig_put(&rig.other, API_TIKTOK, "open-2", "act.b", "rft.b", &b), OK);
    one = rig_get(a);
    two = rig_get(b);
    test_begin(&rig.db);
    assert_int_equal(store_reseal_credential(rig.db.w, a, two.access_sealed, two.refresh_sealed), OK);
    test_commit(&rig.db);
    assert_int_equal(tokens_load(rig.db.w, rig.keys, a, &k), ERR_CORRUPT);
    /* The check of the keys tolerates one row that cannot be decrypted, but a complete inspection reports
     * it. */
    struct sealed_rows rows;
    assert_int_equal(vault_check_key_file(&rig.config, rig.db.w, &rig.error), OK);
    assert_int_equal(vault_inspect(&rig.config, rig.db.w, true, &rows, &rig.error), ERR_CORRUPT);
    assert_non_null(strstr(rig.error.text, "cannot decrypt"));
    assert_non_null(strstr(rig.error.text, "open-1"));
    /* Sealed bytes that were swapped between two columns of one row do not decrypt either. */
    test_begin(&rig.db);
    assert_int_equal(store_reseal_credential(rig.db.w, a, one.refresh_sealed, one.access_sealed), OK);
    test_commit(&rig.db);
    assert_int_equal(tokens_load(rig.db.w, rig.keys, a, &k), ERR_CORRUPT);
    /* In their original columns, the bytes decrypt again. */
    test_begin(&rig.db);
    assert_int_equal(store_reseal_credential(rig.db.w, a, one.access_sealed, one.refresh_sealed), OK);
    test_commit(&rig.db);
    rig_assert_tokens(a, "act.1", "rft.1");
    assert_int_equal(vault_check_key_file(&rig.config, rig.db.w, &rig.error), OK);
}

static void missing_sealing_key_is_reported(void **state)
{
    struct sealed_rows rows;
    (void)state;
    (void)rig_put_tiktok();
    assert_int_equal(remove(rig.key_path), 0);
    assert_int_equal(vault_check_key_file(&rig.config, rig.db.w, &rig.error), ERR_NOT_FOUND);
    assert_int_equal(seal_create_key_file(rig.key_path, rig.key_path, &rig.error), OK);
    assert_int_equal(vault_check_key_file(&rig.config, rig.db.w, &rig.error), ERR_NOT_FOUND);
    assert_non_null(strstr(rig.error.text, "is not in the key file"));
    rig.config.secrets.key_file[0] = '\0';
    assert_int_equal(vault_check_key_file(&rig.config, rig.db.w, &rig.error), ERR_NOT_FOUND);
    assert_non_null(strstr(rig.error.text, "is not set"));
    test_begin(&rig.db);
    assert_int_equal(store_delete_credential(rig.db.w, 1, rig.other.row), ERR_NOT_FOUND);
    assert_int_equal(store_delete_credential(rig.db.w, 1, rig.author.row), OK);
    test_commit(&rig.db);
    assert_int_equal(vault_inspect(&rig.config, rig.db.w, true, &rows, &rig.error), OK);
    assert_int_equal(rows.accounts + rows.webhooks, 0);
}

static void row_id_of_a_removed_account_is_not_reused(void **state)
{
    (void)state;
    const int64_t row = rig_put_tiktok();
    test_begin(&rig.db);
    assert_int_equal(store_delete_credential(rig.db.w, row, 0), OK);
    test_commit(&rig.db);
    assert_true(rig_put_tiktok() > row);
}

/* ---- due refreshes ---- */

static void platform_descriptor_determines_when_a_refresh_is_due(void **state)
{
    const struct platform_desc hours = {.refresh_before_s = 15 * 60};
    const struct platform_desc days = {.refresh_before_s = 30 * 86400, .refresh_min_age_s = 86400};
    const struct platform_desc never = {.refresh_before_s = -1};
    struct credential c = {.obtained_at = NOW, .access_expires_at = NOW + 2 * HOUR_MS};
    (void)state;
    assert_false(token_refresh_is_due(&hours, &c, NOW, false));
    assert_false(token_refresh_is_due(&hours, &c, NOW + 105 * MINUTE_MS, false));
    assert_true(token_refresh_is_due(&hours, &c, NOW + 105 * MINUTE_MS + 1, false));
    assert_true(token_refresh_is_due(&hours, &c, NOW + DAY_MS, false));
    assert_false(token_refresh_is_due(&hours, &c, NOW + DAY_MS, true)); /* no refresh token */
    assert_true(token_refresh_is_due(&hours, &c, NOW + 7 * DAY_MS, true));
    assert_false(token_refresh_is_due(&never, &c, NOW + DAY_MS, false));
    c.state = CREDENTIAL_RECONNECT_REQUIRED;
    assert_false(token_refresh_is_due(&hours, &c, NOW + DAY_MS, false));
    c = (struct credential){.obtained_at = NOW, .access_expires_at = NOW + 20 * DAY_MS};
    assert_false(token_refresh_is_due(&days, &c, NOW + DAY_MS - 1, false));
    assert_true(token_refresh_is_due(&days, &c, NOW + DAY_MS, true));
    c.access_expires_at = TIME_NONE;
    assert_false(token_refresh_is_due(&days, &c, NOW + 90 * DAY_MS, false));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, credential_rig_init, credential_rig_fini)
    const struct CMUnitTest tests[] = {
        TEST(stored_account_is_loaded_unchanged),
        TEST(account_is_updated_by_its_author_but_not_by_another_author),
        TEST(error_of_old_tokens_does_not_affect_new_tokens),
        TEST(swapped_sealed_tokens_cannot_be_decrypted),
        TEST(missing_sealing_key_is_reported),
        TEST(row_id_of_a_removed_account_is_not_reused),
        TEST(platform_descriptor_determines_when_a_refresh_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

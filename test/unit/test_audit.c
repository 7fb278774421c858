/* Tests the audit log: which actions are recorded with which actor, and how long and how many entries are
 * stored. */
#include "lib/temp_db.h"

#include "base/clock.h"
#include "base/expiry_floor.h"
#include "store/accounts.h"
#include "store/audit.h"
#include "store/webhooks.h"

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
    return temp_db_init_in_transaction(&t);
}

static int tear_down(void **state)
{
    (void)state;
    return temp_db_fini_in_transaction(&t);
}

struct listing {
    int count;
    char text[4096]; /* one line per entry, newest first */
};

static bool on_entry(void *ctx, const struct audit_entry *e)
{
    struct listing *l = ctx;
    const size_t used = strlen(l->text);
    (void)snprintf(l->text + used, sizeof l->text - used, "%.*s %.*s %.*s %.*s\n", (int)e->action.len,
                   e->action.p, (int)e->actor.len, e->actor.p, (int)e->address.len,
                   e->address.p ? e->address.p : "", (int)e->details.len, e->details.p ? e->details.p : "");
    l->count++;
    return true;
}

static struct listing list_of(const struct author *author)
{
    struct listing l = {.count = 0};
    assert_int_equal(store_list_audit(t.w, author->row, 0, 1000, on_entry, &l), OK);
    return l;
}

static void sign_in(const struct author *author, uint64_t n, int64_t at)
{
    const struct actor by = actor_make(ACTOR_AUTHOR, (struct str){NULL, 0}, STR("192.0.2.7"));
    struct new_session session = {
        .author_row = author->row, .created_at = at, .expires_at = at + DAY_MS, .signed_in_at = at};
    hash_of(n, session.hash);
    assert_int_equal(store_insert_session(t.w, &session, &by), OK);
}

static void creation_first_use_and_revocation_of_a_key_are_recorded(void **state)
{
    (void)state;
    const struct author author = add_author(&t, 1);
    const struct api_key key = add_key(&t, &author, 1);
    assert_int_equal(store_set_key_used(t.w, key.row, TEST_DAY + 1, STR("192.0.2.7")), OK);
    assert_int_equal(store_set_key_used(t.w, key.row, TEST_DAY + 2, STR("192.0.2.7")), OK);
    assert_int_equal(store_revoke_key(t.w, key.row, TEST_DAY + 3, &test_actor), OK);
    assert_int_equal(store_revoke_key(t.w, key.row, TEST_DAY + 4, &test_actor), OK);
    char expected[256];
    (void)snprintf(
        expected, sizeof expected,
        "key.revoked operator  %.*s\nkey.first_used key 192.0.2.7 %.*s\nkey.created operator  %.*s\n",
        (int)key.name.len, key.name.p, (int)key.name.len, key.name.p, (int)key.name.len, key.name.p);
    assert_string_equal(list_of(&author).text, expected);
}

static void update_of_an_author_is_recorded_only_if_the_plan_changes(void **state)
{
    (void)state;
    struct author author = add_author(&t, 1);
    author.name = STR("New Name");
    assert_int_equal(store_update_author(t.w, &author, TEST_DAY, &test_actor), OK);
    assert_int_equal(list_of(&author).count, 0);
    author.plan_active = !author.plan_active;
    assert_int_equal(store_update_author(t.w, &author, TEST_DAY, &test_actor), OK);
    assert_string_equal(list_of(&author).text, author.plan_active
                                                   ? "plan.changed operator  inactive to active\n"
                                                   : "plan.changed operator  active to inactive\n");
}

static void entries_of_an_author_are_deleted_after_a_year(void **state)
{
    (void)state;
    const int64_t year = AUDIT_DAYS * (int64_t)DAY_MS;
    const struct author old = add_author(&t, 1), other = add_author(&t, 2);
    sign_in(&old, 1, TEST_DAY);
    sign_in(&other, 2, TEST_DAY + year);
    assert_int_equal(list_of(&old).count, 1);
    sign_in(&other, 3, TEST_DAY + year + 1);
    assert_int_equal(list_of(&old).count, 1); /* the clock may be wrong: the expiry floor is not known yet */
    expiry_raise_floor(TEST_DAY + 2 * year, clock_mono_ms());
    sign_in(&other, 4, TEST_DAY + year);
    assert_int_equal(list_of(&old).count, 1);
    sign_in(&other, 5, TEST_DAY + year + 1);
    assert_int_equal(list_of(&old).count, 0);
    assert_int_equal(list_of(&other).count, 4);
}

static void at_most_100_sign_ins_of_an_author_are_recorded_per_day(void **state)
{
    (void)state;
    const struct author author = add_author(&t, 1), other = add_author(&t, 2);
    for (int i = 0; i < AUDIT_REPEATS_A_DAY + 3; i++)
        sign_in(&author, 100 + (uint64_t)i, TEST_DAY + i);
    assert_int_equal(list_of(&author).count, AUDIT_REPEATS_A_DAY);
    sign_in(&other, 1, TEST_DAY + 500);
    assert_int_equal(list_of(&other).count, 1);
    sign_in(&author, 2, TEST_DAY + DAY_MS);
    assert_int_equal(list_of(&author).count, AUDIT_REPEATS_A_DAY + 1);
    (void)add_key(&t, &author, 1);
    assert_int_equal(list_of(&author).count, AUDIT_REPEATS_A_DAY + 2);
}

static void entries_from_a_clock_that_was_ahead_do_not_count_for_an_earlier_day(void **state)
{
    (void)state;
    const struct author author = add_author(&t, 1);
    for (int i = 0; i < AUDIT_REPEATS_A_DAY; i++)
        sign_in(&author, 100 + (uint64_t)i, TEST_DAY + 2 * DAY_MS);
    sign_in(&author, 1, TEST_DAY + DAY_MS);
    assert_int_equal(list_of(&author).count, AUDIT_REPEATS_A_DAY + 1);
}

static void at_most_100_changes_of_webhooks_are_recorded_per_day_and_kind(void **state)
{
    (void)state;
    const struct author author = add_author(&t, 1);
    const struct webhook_endpoint e = {.author_row = author.row,
                                       .url = STR("https://example.com/in?token=s3cret")};
    for (int i = 0; i < AUDIT_REPEATS_A_DAY + 3; i++)
        assert_int_equal(store_note_webhook(t.w, &e, TEST_DAY + i, AUDIT_WEBHOOK_PAUSED, &test_actor), OK);
    assert_int_equal(store_note_webhook(t.w, &e, TEST_DAY, AUDIT_WEBHOOK_DELETED, &test_actor), OK);
    assert_int_equal(list_of(&author).count, AUDIT_REPEATS_A_DAY + 1);
}

static void at_most_100_exports_and_all_imports_are_recorded(void **state)
{
    (void)state;
    const struct author author = add_author(&t, 1);
    for (int i = 0; i < AUDIT_REPEATS_A_DAY + 3; i++) {
        const struct audit_note exported = {author.row, TEST_DAY + i, .action = AUDIT_AUTHOR_EXPORTED};
        const struct audit_note imported = {author.row, TEST_DAY + i, .action = AUDIT_AUTHOR_IMPORTED};
        assert_int_equal(store_insert_audit(t.w, &exported, &test_actor), OK);
        assert_int_equal(store_insert_audit(t.w, &imported, &test_actor), OK);
    }
    assert_int_equal(list_of(&author).count, AUDIT_REPEATS_A_DAY + AUDIT_REPEATS_A_DAY + 3);
}

static void webhook_entry_contains_only_the_origin_of_the_url(void **state)
{
    (void)state;
    const struct author author = add_author(&t, 1);
    static const char *const urls[] = {"https://example.com/in?token=s3cret", "https://example.com?s3cret",
                                       "https://example.com"};
    for (int i = 0; i < 3; i++) {
        const struct webhook_endpoint e = {.author_row = author.row, .url = str_from_cstr(urls[i])};
        assert_int_equal(store_note_webhook(t.w, &e, TEST_DAY + i, AUDIT_WEBHOOK_CREATED, &test_actor), OK);
    }
    assert_string_equal(list_of(&author).text, "webhook.created operator  https://example.com\n"
                                               "webhook.created operator  https://example.com\n"
                                               "webhook.created operator  https://example.com\n");
}

static void long_name_is_truncated_at_the_end_of_a_character(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'x', sizeof name);
    memcpy(name + sizeof((struct actor *)0)->name - 2, "é", 2);
    const struct actor actor = actor_make(ACTOR_APP, str_make(name, sizeof name), STR("::1"));
    assert_int_equal(strlen(actor.name), sizeof actor.name - 2);
    assert_string_equal(actor.address, "::1");
    assert_true(str_is_utf8(str_from_cstr(actor.name)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(creation_first_use_and_revocation_of_a_key_are_recorded, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(update_of_an_author_is_recorded_only_if_the_plan_changes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(entries_of_an_author_are_deleted_after_a_year, set_up, tear_down),
        cmocka_unit_test_setup_teardown(at_most_100_sign_ins_of_an_author_are_recorded_per_day, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(at_most_100_exports_and_all_imports_are_recorded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(entries_from_a_clock_that_was_ahead_do_not_count_for_an_earlier_day,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(at_most_100_changes_of_webhooks_are_recorded_per_day_and_kind, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(webhook_entry_contains_only_the_origin_of_the_url, set_up, tear_down),
        cmocka_unit_test(long_name_is_truncated_at_the_end_of_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

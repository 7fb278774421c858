/* Tests the reads behind the web pages: authors who sign in, their sessions, devices and invitations, apps
 * with their redirect URIs, and keys. */
#include "lib/temp_db.h"

#include "store/accounts.h"
#include "store/apps.h"
#include "store/author_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp_db t;
static struct author ann, bob;
static struct store_read read;
static const struct actor by_operator = {.kind = ACTOR_OPERATOR};

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    test_begin(&t);
    ann = add_author(&t, 1);
    bob = add_author(&t, 2);
    read = (struct store_read){.store = t.w}; /* sees the changes of the open transaction */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

/* --- signing in --- */

static void login_is_found_by_its_name_or_by_its_author(void **state)
{
    (void)state;
    struct viewer viewer;
    assert_int_equal(store_put_login(t.w, ann.row, STR("ann"), STR("hash"), TEST_DAY), OK);
    assert_int_equal(store_find_login(&read, &t.arena, STR("ann"), &viewer), NEXT_MORE);
    assert_int_equal(read.err, OK);
    assert_int_equal(viewer.author_row, ann.row);
    assert_true(uuid_eq(&viewer.id, &ann.id));
    assert_true(str_eq(viewer.name, ann.name));
    assert_true(str_eq(viewer.password, STR("hash")));
    assert_true(viewer.plan_active);
    (void)store_find_login(&read, &t.arena, STR("Ann"), &viewer);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    (void)store_find_viewer(&read, &t.arena, &bob.id, &viewer);
    assert_int_equal(read.err, OK);
    assert_int_equal(viewer.author_row, bob.row);
    assert_null(viewer.login.p);
    assert_int_equal(store_get_viewer(t.w, &t.arena, ann.row, &viewer), OK);
    assert_true(str_eq(viewer.login, STR("ann")));
    assert_int_equal(store_get_login(t.w, &t.arena, STR("bob"), &viewer), ERR_NOT_FOUND);
}

static void session_is_found_by_the_hash_of_its_secret(void **state)
{
    (void)state;
    struct new_session session = {
        .author_row = bob.row, .created_at = 10, .expires_at = 90, .signed_in_at = 10};
    struct session found;
    memset(session.hash, 's', sizeof session.hash);
    assert_int_equal(store_insert_session(t.w, &session, &by_operator), OK);
    assert_int_equal(store_touch_session(t.w, session.hash, 20), OK);
    (void)store_find_session(&read, &t.arena, session.hash, &found);
    assert_int_equal(read.err, OK);
    assert_int_equal(found.viewer.author_row, bob.row);
    assert_int_equal(found.created_at, 10);
    assert_int_equal(found.seen_at, 20);
    assert_int_equal(found.expires_at, 90);
    session.hash[31] = 't';
    (void)store_find_session(&read, &t.arena, session.hash, &found);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

static void expired_device_is_not_found(void **state)
{
    (void)state;
    struct device_record device = {.author_row = ann.row, .now = 10, .expires_at = 90};
    int64_t author_row = 0;
    memset(device.hash, 'd', sizeof device.hash);
    assert_int_equal(store_put_device(t.w, &device, 5), OK);
    (void)store_find_device(&read, device.hash, 89, &author_row);
    assert_int_equal(read.err, OK);
    assert_int_equal(author_row, ann.row);
    (void)store_find_device(&read, device.hash, 90, &author_row);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

static void invitation_is_found_by_the_hash_of_its_secret(void **state)
{
    (void)state;
    uint8_t hash[SECRET_HASH_LEN] = {7};
    struct invitation found, got;
    assert_int_equal(store_insert_invitation(t.w, hash, ann.row, STR("ann"), 10, 90), OK);
    (void)store_find_invitation(&read, &t.arena, hash, &found);
    assert_int_equal(read.err, OK);
    assert_int_equal(found.viewer.author_row, ann.row);
    assert_true(str_eq(found.login, STR("ann")));
    assert_int_equal(found.expires_at, 90);
    assert_int_equal(found.used_at, TIME_NONE);
    assert_int_equal(store_mark_invitation_used(t.w, hash, 30), OK);
    assert_int_equal(store_get_invitation(t.w, &t.arena, hash, &got), OK);
    assert_int_equal(got.used_at, 30);
    hash[0] = 8;
    (void)store_find_invitation(&read, &t.arena, hash, &found);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

/* --- apps --- */

static struct app_record add_app(struct str client_id)
{
    struct app_record app = {.client_id = client_id, .name = STR("App"), .created_at = 5};
    assert_int_equal(store_insert_app(t.w, &app), OK);
    return app;
}

static void app_comes_with_its_redirect_uris_in_order(void **state)
{
    (void)state;
    const struct app_record app = add_app(STR("one")), other = add_app(STR("two"));
    struct app_lookup found;
    assert_int_equal(store_insert_redirect(t.w, app.row, STR("https://b.example/")), OK);
    assert_int_equal(store_insert_redirect(t.w, app.row, STR("https://B.example/")), OK);
    assert_int_equal(store_insert_redirect(t.w, app.row, STR("https://a.example/")), OK);
    assert_int_equal(store_insert_redirect(t.w, other.row, STR("https://c.example/")), OK);
    (void)store_read_app(&read, &t.arena, STR("one"), &found);
    assert_int_equal(read.err, OK);
    assert_int_equal(found.app.row, app.row);
    assert_true(str_eq(found.app.client_id, STR("one")));
    assert_true(str_eq(found.app.name, STR("App")));
    assert_null(found.app.home_url.p);
    assert_int_equal(found.app.removed_at, TIME_NONE);
    assert_int_equal(found.redirect_count, 3);
    assert_true(str_eq(found.redirects[0], STR("https://B.example/")));
    assert_true(str_eq(found.redirects[1], STR("https://a.example/")));
    assert_true(str_eq(found.redirects[2], STR("https://b.example/")));
}

static void app_without_redirect_uris_is_found(void **state)
{
    (void)state;
    (void)add_app(STR("one"));
    struct app_lookup found;
    (void)store_read_app(&read, &t.arena, STR("one"), &found);
    assert_int_equal(read.err, OK);
    assert_int_equal(found.redirect_count, 0);
    (void)store_read_app(&read, &t.arena, STR("two"), &found);
    assert_int_equal(read.err, ERR_NOT_FOUND);
}

static void at_most_64_redirect_uris_of_an_app_are_read(void **state)
{
    (void)state;
    const struct app_record app = add_app(STR("one"));
    struct app_lookup found;
    for (int i = 0; i < 100; i++)
        assert_int_equal(
            store_insert_redirect(t.w, app.row, arena_printf(&t.arena, "https://%d.example/", i)), OK);
    (void)store_read_app(&read, &t.arena, STR("one"), &found);
    assert_int_equal(read.err, OK);
    assert_int_equal(found.redirect_count, 64);
}

/* --- keys --- */

static bool copy_key(void *ctx, const struct author_key *key)
{
    struct author_key *copy = ctx;
    *copy = *key;
    return false;
}

static bool count_key(void *ctx, const struct author_key *key)
{
    int *count = ctx;
    (void)key;
    (*count)++;
    return true;
}

static void keys_are_listed_by_state_and_found_for_their_author_only(void **state)
{
    (void)state;
    const struct api_key first = add_key(&t, &ann, 1), second = add_key(&t, &ann, 2);
    struct author_key found;
    int live = 0, revoked = 0;
    (void)add_key(&t, &bob, 3);
    assert_int_equal(store_revoke_key(t.w, first.row, TEST_DAY, &by_operator), OK);
    (void)store_list_author_keys(&read, ann.row, KEYS_LIVE, 10, count_key, &live);
    (void)store_list_author_keys(&read, ann.row, KEYS_REVOKED, 10, count_key, &revoked);
    assert_int_equal(live, 1);
    assert_int_equal(revoked, 1);
    (void)store_list_author_keys(&read, ann.row, KEYS_LIVE, 10, copy_key, &found);
    assert_int_equal(read.err, OK);
    assert_int_equal(found.key.row, second.row);
    assert_false(found.is_app);
    (void)store_read_author_key(&read, ann.row, &first.id, copy_key, &found);
    assert_int_equal(read.err, OK);
    assert_int_equal(found.key.revoked_at, TEST_DAY);
    (void)store_read_author_key(&read, bob.row, &first.id, copy_key, &found);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    assert_int_equal(store_get_author_key(t.w, bob.row, &first.id, copy_key, &found), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(login_is_found_by_its_name_or_by_its_author, set_up, tear_down),
        cmocka_unit_test_setup_teardown(session_is_found_by_the_hash_of_its_secret, set_up, tear_down),
        cmocka_unit_test_setup_teardown(expired_device_is_not_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(invitation_is_found_by_the_hash_of_its_secret, set_up, tear_down),
        cmocka_unit_test_setup_teardown(app_comes_with_its_redirect_uris_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(app_without_redirect_uris_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(at_most_64_redirect_uris_of_an_app_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_are_listed_by_state_and_found_for_their_author_only, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

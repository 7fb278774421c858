/* Tests store/webhooks.h: endpoints and which of them are due, attempts, requests, and the webhooks of apps.
 */
#include "lib/temp_db.h"
#include "unit.h"

#include "store/apps.h"
#include "store/webhooks.h"

#include <stdio.h>

static struct temp_db t;
static struct author ann, bob;
static struct event event;

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    test_begin(&t);
    ann = add_author(&t, 1);
    bob = add_author(&t, 2);
    struct video video = add_video(&t, &ann, 0, 1, TEST_DAY);
    event = add_event(&t, &video, EVENT_MILESTONE_REACHED, 1000, TEST_DAY);
    test_commit(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

static struct webhook_endpoint insert(const struct author *author, uint64_t n, int64_t app_row)
{
    struct webhook_endpoint e = {.id = test_uuid(9, n),
                                 .author_row = author->row,
                                 .app_row = app_row,
                                 .url = STR("https://example.com/hook"),
                                 .types = 2,
                                 .secret = app_row ? (struct str){0} : STR("sealed"),
                                 .created_at = TEST_DAY};
    test_begin(&t);
    assert_int_equal(store_insert_webhook(t.w, &e), OK);
    test_commit(&t);
    return e;
}

static struct webhook_endpoint get(int64_t row)
{
    struct webhook_endpoint e;
    assert_int_equal(store_get_webhook(t.r, &t.arena, row, &e), OK);
    return e;
}

static void save(struct webhook_endpoint e)
{
    test_begin(&t);
    assert_int_equal(store_save_webhook(t.w, &e), OK);
    test_commit(&t);
}

static void endpoint_is_stored_completely(void **state)
{
    (void)state;
    struct webhook_endpoint e = insert(&ann, 1, 0), found = get(e.row);
    assert_true(uuid_eq(&found.id, &e.id) && uuid_eq(&found.author_id, &ann.id));
    assert_true(str_eq(found.url, e.url) && str_eq(found.secret, STR("sealed")));
    assert_int_equal(found.types, 2);
    assert_int_equal(found.state, WEBHOOK_ACTIVE);
    assert_int_equal(found.next_attempt_at, TIME_NONE);
    assert_int_equal(found.last_event_id, event.id);
    assert_true(found.plan_active && found.is_connected);
    assert_null(found.app_name.p);
    e = found;
    e.state = WEBHOOK_FAILED;
    e.state_at = 5;
    e.position = 6;
    e.failures = 7;
    e.next_attempt_at = 8;
    e.attempts = 9;
    save(e);
    found = get(e.row);
    assert_int_equal(found.state, WEBHOOK_FAILED);
    assert_int_equal(found.state_at + found.position + found.failures + found.next_attempt_at +
                         found.attempts,
                     5 + 6 + 7 + 8 + 9);
}

static bool count(void *ctx, const struct webhook_endpoint *e)
{
    (void)e;
    ++*(int *)ctx;
    return true;
}

static int due(int64_t now)
{
    int n = 0;
    assert_int_equal(store_list_due_webhooks(t.r, 0, now, 100, count, &n), OK);
    return n;
}

static void active_endpoint_is_due_if_it_has_an_event_and_its_pause_has_ended(void **state)
{
    (void)state;
    struct webhook_endpoint e = get(insert(&ann, 1, 0).row);
    (void)insert(&bob, 2, 0); /* Bob has no event */
    assert_int_equal(due(TEST_DAY), 1);
    e.next_attempt_at = TEST_DAY + 1;
    save(e);
    assert_int_equal(due(TEST_DAY), 0);
    assert_int_equal(due(TEST_DAY + 1), 1);
    assert_int_equal(due(TEST_DAY - INT64_C(3) * 86400000), 1); /* the clock was set back */
    int64_t next;
    assert_int_equal(store_next_webhook_attempt(t.r, TEST_DAY, &next), OK);
    assert_int_equal(next, TEST_DAY + 1);
    assert_int_equal(store_next_webhook_attempt(t.r, TEST_DAY + 1, &next), OK);
    assert_true(next == INT64_MAX);
    e.next_attempt_at = TIME_NONE;
    e.state = WEBHOOK_PAUSED;
    save(e);
    assert_int_equal(due(TEST_DAY), 0);
    e.state = WEBHOOK_ACTIVE;
    e.position = event.id;
    save(e);
    assert_int_equal(due(TEST_DAY), 0);
    e.position = event.id - 1;
    save(e);
    ann.plan_active = false;
    test_begin(&t);
    assert_int_equal(store_update_author(t.w, &ann, TEST_DAY, &test_actor), OK);
    test_commit(&t);
    assert_int_equal(due(TEST_DAY), 0);
}

static bool sum_numbers(void *ctx, const struct webhook_attempt *a)
{
    int64_t *sum = ctx;
    sum[0]++;
    sum[1] = a->number; /* the last one listed is the oldest */
    return true;
}

static void only_the_newest_50_attempts_of_an_endpoint_are_stored(void **state)
{
    (void)state;
    const struct webhook_endpoint e = insert(&ann, 1, 0), other = insert(&ann, 2, 0);
    int64_t seen[2] = {0};
    test_begin(&t);
    for (int i = 1; i <= WEBHOOK_ATTEMPTS_KEPT + 7; i++) {
        const struct webhook_attempt a = {
            .number = i, .event_id = event.id, .error = STR("x"), .status = 500};
        assert_int_equal(store_insert_webhook_attempt(t.w, e.row, &a), OK);
    }
    const struct webhook_attempt first = {.number = 1};
    assert_int_equal(store_insert_webhook_attempt(t.w, other.row, &first), OK);
    test_commit(&t);
    struct store_read read = temp_db_read(&t);
    assert_int_equal(store_read_webhook_attempts(&read, e.row, 100, sum_numbers, seen), NEXT_MORE);
    assert_int_equal(read.err, OK);
    assert_int_equal(seen[0], WEBHOOK_ATTEMPTS_KEPT);
    assert_int_equal(seen[1], 8);
    seen[0] = 0;
    (void)store_read_webhook_attempts(&read, other.row, 100, sum_numbers, seen);
    assert_int_equal(seen[0], 1);
}

static bool on_request(void *ctx, int64_t row, int64_t event_id)
{
    int64_t *seen = ctx;
    seen[0] = row;
    seen[1] = event_id;
    return true;
}

static void repeated_request_is_stored_once_and_request_101_is_rejected(void **state)
{
    (void)state;
    const struct webhook_endpoint e = insert(&ann, 1, 0);
    int64_t seen[2] = {0};
    test_begin(&t);
    for (int i = WEBHOOK_REQUESTS_MAX; i > 0; i--)
        for (int twice = 0; twice < 2; twice++)
            assert_int_equal(store_request_webhook(t.w, e.row, i, 1), OK);
    assert_int_equal(store_request_webhook(t.w, e.row, 0, 1), ERR_FULL);
    assert_int_equal(store_request_webhook(t.w, e.row, 1, 1), OK); /* the same request is already waiting */
    test_commit(&t);
    assert_int_equal(store_list_webhook_requests(t.r, 0, 10, on_request, seen), OK);
    assert_int_equal(seen[0], e.row);
    assert_int_equal(seen[1], 1); /* the oldest event is listed first */
    assert_int_equal(store_list_webhook_requests(t.r, e.row, 10, on_request, seen), OK);
    test_begin(&t);
    assert_int_equal(store_delete_webhook_request(t.w, e.row, 1), OK);
    assert_int_equal(store_delete_webhook(t.w, e.row), OK);
    test_commit(&t);
    seen[0] = 0;
    assert_int_equal(store_list_webhook_requests(t.r, 0, 10, on_request, seen), OK);
    assert_int_equal(seen[0], 0);
    struct webhook_endpoint gone;
    assert_int_equal(store_get_webhook(t.r, &t.arena, e.row, &gone), ERR_NOT_FOUND);
}

static void another_author_cannot_read_an_endpoint(void **state)
{
    (void)state;
    struct webhook_endpoint e = insert(&ann, 1, 0), found;
    int n = 0;
    struct store_read read = temp_db_read(&t);
    (void)store_read_webhook(&read, &t.arena, ann.row, &e.id, &found);
    assert_int_equal(read.err, OK);
    (void)store_read_webhook(&read, &t.arena, bob.row, &e.id, &found);
    assert_int_equal(read.err, ERR_NOT_FOUND);
    (void)store_read_webhooks(&read, bob.row, 10, count, &n);
    assert_int_equal(n, 0);
}

/* ---- apps ---- */

static struct app_record app;

static struct api_key connect_app(void)
{
    app = (struct app_record){
        .client_id = STR("app_1"), .name = STR("App"), .created_at = 1, .removed_at = TIME_NONE};
    const struct app_webhook webhook = {
        .url = STR("https://example.com/hook"), .secret = STR("of the app"), .old_secret_until = TIME_NONE};
    uint8_t hash[KEY_HASH_LEN];
    hash_of(77, hash);
    test_begin(&t);
    assert_int_equal(store_insert_app(t.w, &app), OK);
    assert_int_equal(store_set_app_webhook(t.w, app.row, &webhook), OK);
    struct api_key key = {.id = test_uuid(7, 1),
                          .suffix = "abcd",
                          .author_row = ann.row,
                          .name = STR("App"),
                          .created_at = 1,
                          .app_row = app.row};
    assert_int_equal(store_insert_key(t.w, &key, hash, &test_actor), OK);
    test_commit(&t);
    return key;
}

static void endpoint_of_an_app_is_not_connected_after_its_key_or_url_changes(void **state)
{
    (void)state;
    const struct api_key key = connect_app();
    struct webhook_endpoint e = get(insert(&ann, 1, app.row).row);
    struct app_webhook webhook;
    assert_true(e.is_connected && str_eq(e.secret, STR("of the app")) && str_eq(e.app_name, STR("App")));
    assert_int_equal(store_get_app_webhook(t.r, &t.arena, app.row, &webhook), OK);
    webhook.url = STR("https://other.example/hook");
    test_begin(&t);
    assert_int_equal(store_set_app_webhook(t.w, app.row, &webhook), OK);
    test_commit(&t);
    assert_false(get(e.row).is_connected);
    webhook.url = STR("https://example.com/hook");
    test_begin(&t);
    assert_int_equal(store_set_app_webhook(t.w, app.row, &webhook), OK);
    test_commit(&t);
    assert_true(get(e.row).is_connected);
    test_begin(&t);
    assert_int_equal(store_revoke_key(t.w, key.row, 2, &test_actor), OK);
    test_commit(&t);
    assert_false(get(e.row).is_connected);
    int64_t own;
    assert_int_equal(store_count_webhooks(t.r, ann.row, &own), OK);
    assert_int_equal(own, 0);
}

static void app_has_one_endpoint_per_author(void **state)
{
    (void)state;
    (void)connect_app();
    struct webhook_endpoint e = insert(&ann, 1, app.row), again = e;
    (void)insert(&bob, 2, app.row);
    again.id = test_uuid(9, 3);
    test_begin(&t);
    assert_int_equal(store_insert_webhook(t.w, &again), ERR_EXISTS);
    store_rollback(t.w);
    assert_int_equal(store_find_app_webhook(t.r, &t.arena, app.row, ann.row, &again), OK);
    assert_int_equal(again.row, e.row);
}

static void endpoints_are_counted_by_state(void **state)
{
    (void)state;
    struct webhook_counts counts;
    struct webhook_endpoint e = get(insert(&ann, 1, 0).row), f = get(insert(&ann, 2, 0).row);
    e.state = WEBHOOK_GONE;
    f.next_attempt_at = 5;
    save(e);
    save(f);
    assert_int_equal(store_count_webhook_states(t.r, &counts), OK);
    assert_int_equal(counts.by_state[WEBHOOK_ACTIVE], 1);
    assert_int_equal(counts.by_state[WEBHOOK_GONE], 1);
    assert_int_equal(counts.by_state[WEBHOOK_FAILED], 0);
    assert_int_equal(counts.failing, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(endpoint_is_stored_completely),
        TEST(active_endpoint_is_due_if_it_has_an_event_and_its_pause_has_ended),
        TEST(only_the_newest_50_attempts_of_an_endpoint_are_stored),
        TEST(repeated_request_is_stored_once_and_request_101_is_rejected),
        TEST(another_author_cannot_read_an_endpoint),
        TEST(endpoint_of_an_app_is_not_connected_after_its_key_or_url_changes),
        TEST(app_has_one_endpoint_per_author),
        TEST(endpoints_are_counted_by_state),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests queues of pending posts (division into calls, splitting of batches, retries), the order of a walk
 * over the authors, and the redaction of samples. */
#include "fetch/post_queue.h"
#include "fetch/redact.h"
#include "fetch/walk_position.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { POSTS = 50 };

static struct {
    struct platform_desc desc;
    struct throttle throttle;
    struct api_queue api;
    struct fetch_account account;
    struct pending_post posts[POSTS];
} s;

static bool is_number(struct str id)
{
    return id.len && id.p[0] != 'v';
}

static int set_up(void **state)
{
    (void)state;
    memset(&s, 0, sizeof s);
    s.desc = (struct platform_desc){.platform = PLATFORM_TIKTOK,
                                    .tiers = 2,
                                    .ids_per_call = {20, 7},
                                    .ids_per_resolve = 1,
                                    .is_readable = is_number};
    s.throttle.desc = &s.desc;
    api_queue_init(&s.api, &s.throttle);
    fetch_account_init(&s.account, &s.api, NULL);
    s.account.row = 1;
    for (size_t i = 0; i < POSTS; i++) {
        list_init(&s.posts[i].link);
        s.posts[i].record.post_id = STR("7077642457847994444");
    }
    return 0;
}

static void add_posts(size_t n)
{
    for (size_t i = 0; i < n; i++)
        fetch_account_add(&s.account, &s.posts[i]);
}

/* Checks that the batch holds `count` posts from `first` on, in this order, and frees it. */
static void expect_batch(struct call_batch *b, size_t first, size_t count)
{
    assert_non_null(b);
    assert_int_equal(b->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(b->posts.next, &s.posts[first + i].link);
        list_remove(b->posts.next);
    }
    call_batch_free(b);
}

static struct call_batch *next_batch(int64_t now)
{
    return fetch_account_next_batch(&s.account, now);
}

static void queue_is_divided_into_calls(void **state)
{
    (void)state;
    add_posts(47);
    expect_batch(next_batch(0), 0, 20);
    expect_batch(next_batch(0), 20, 20);
    expect_batch(next_batch(0), 40, 7);
    assert_null(next_batch(0));
    fetch_account_update_ready(&s.account);
    assert_true(list_is_empty(&s.api.ready));
}

static void batch_size_depends_on_request_form(void **state)
{
    (void)state;
    add_posts(10);
    s.account.tier = 1;
    expect_batch(next_batch(0), 0, 7);
    expect_batch(next_batch(0), 7, 3);
    add_posts(30);
    s.account.tier = 0;
    s.throttle.options.ids_per_call = 25; /* set by the operator */
    expect_batch(next_batch(0), 0, 25);
    expect_batch(next_batch(0), 25, 5);
    s.throttle.lowest_tier = 1; /* the first form is not granted */
    s.throttle.options.ids_per_call = 0;
    assert_int_equal(throttle_ids_per_call(&s.throttle, CALL_READ, 0), 7);
}

static void ids_are_resolved_one_per_call_before_posts_are_read(void **state)
{
    (void)state;
    s.posts[3].record.post_id = STR("v_pub_url~1");
    s.posts[4].record.post_id = STR("v_pub_url~2");
    s.posts[4].record.resolved_id = STR("7077642457847994444"); /* resolved by an earlier run */
    add_posts(5);
    struct call_batch *b = next_batch(0);
    assert_int_equal(b->kind, CALL_RESOLVE);
    expect_batch(b, 3, 1);
    b = next_batch(0);
    assert_int_equal(b->kind, CALL_READ);
    assert_int_equal(b->count, 4);
    while (!list_is_empty(&b->posts))
        list_remove(b->posts.next);
    call_batch_free(b);
}

static void batch_is_split_down_to_one_post(void **state)
{
    (void)state;
    add_posts(5);
    struct call_batch *b = next_batch(0), *rest = call_batch_split(b, 2);
    assert_int_equal(b->count, 2);
    struct call_batch *last = call_batch_split(rest, 1);
    expect_batch(b, 0, 2);
    expect_batch(rest, 2, 1);
    expect_batch(last, 3, 2);
}

static void requeued_posts_return_to_the_front_of_the_queue(void **state)
{
    (void)state;
    add_posts(30);
    fetch_account_requeue(&s.account, next_batch(0));
    expect_batch(next_batch(0), 0, 20);
    expect_batch(next_batch(0), 20, 10);
}

static void retries_wait_and_precede_new_posts(void **state)
{
    (void)state;
    int64_t at;
    add_posts(30);
    fetch_account_retry(&s.account, next_batch(1000), 1500);
    assert_true(fetch_account_is_ready(&s.account, 1000, &at)); /* new posts are queued */
    expect_batch(next_batch(1499), 20, 10);
    assert_false(fetch_account_is_ready(&s.account, 1499, &at));
    assert_int_equal(at, 1500);
    assert_null(next_batch(1499));
    assert_true(fetch_account_is_ready(&s.account, 1500, &at));
    fetch_account_add(&s.account, &s.posts[30]);
    expect_batch(next_batch(1500), 0, 20);
    expect_batch(next_batch(1500), 30, 1);
}

static void busy_or_paused_account_is_not_ready(void **state)
{
    (void)state;
    int64_t at;
    add_posts(1);
    assert_ptr_equal(s.api.ready.next, &s.account.link);
    s.account.busy = true;
    fetch_account_update_ready(&s.account);
    assert_true(list_is_empty(&s.api.ready));
    add_posts(2);
    assert_true(list_is_empty(&s.api.ready));
    s.account.busy = false;
    fetch_account_update_ready(&s.account);
    assert_ptr_equal(s.api.ready.next, &s.account.link);
    s.account.not_before = 77;
    assert_false(fetch_account_is_ready(&s.account, 76, &at));
    assert_int_equal(at, 77);
    expect_batch(next_batch(77), 0, 2);
}

static void each_account_has_its_own_rate_limit(void **state)
{
    (void)state;
    int64_t at;
    add_posts(1);
    bucket_init(&s.account.bucket, 60, 1, 5000);
    assert_true(fetch_account_is_ready(&s.account, 5000, &at));
    bucket_use(&s.account.bucket, false, 5000);
    assert_false(fetch_account_is_ready(&s.account, 5000, &at));
    assert_int_equal(at, 6000);
    expect_batch(next_batch(6000), 0, 1);
}

static void walk_positions_after_wrapping_follow_positions_before_wrapping(void **state)
{
    (void)state;
    const struct walk_position in_order[] = {{0, false, 7}, {0, false, 9}, {0, true, 1},
                                             {0, true, 6},  {1, false, 7}, {1, true, 2}};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            const int order = walk_position_cmp(&in_order[i], &in_order[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
}

static void tokens_are_redacted_but_ids_names_and_numbers_are_not(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"{\"data\":{\"videos\":[{\"id\":\"7077642457847994444\",\"view_count\":12}]}}",
         "{\"data\":{\"videos\":[{\"id\":\"7077642457847994444\",\"view_count\":12}]}}"},
        {"{\"access_token\":\"abc\",\"expires_in\":7200}", "{\"access_token\":\"***\",\"expires_in\":7200}"},
        {"refresh_token=rft.x&a=1", NULL},
        {"{\"code\":\"a b\"}", "{\"code\":\"***\"}"},
        {"<html>SeCrEt-echo</html>", NULL},
        {"Bearer ya29.A0AfH6SM", NULL},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200];
        const size_t n = strlen(cases[i].in);
        memcpy(text, cases[i].in, n + 1);
        redact(text, n);
        assert_null(strstr(text, "SeCrEt"));
        assert_null(strstr(text, "rft.x"));
        assert_null(strstr(text, "ya29"));
        assert_int_equal(strlen(text), n);
        if (cases[i].out)
            assert_string_equal(text, cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(queue_is_divided_into_calls, set_up),
        cmocka_unit_test_setup(batch_size_depends_on_request_form, set_up),
        cmocka_unit_test_setup(ids_are_resolved_one_per_call_before_posts_are_read, set_up),
        cmocka_unit_test_setup(batch_is_split_down_to_one_post, set_up),
        cmocka_unit_test_setup(requeued_posts_return_to_the_front_of_the_queue, set_up),
        cmocka_unit_test_setup(retries_wait_and_precede_new_posts, set_up),
        cmocka_unit_test_setup(busy_or_paused_account_is_not_ready, set_up),
        cmocka_unit_test_setup(each_account_has_its_own_rate_limit, set_up),
        cmocka_unit_test(walk_positions_after_wrapping_follow_positions_before_wrapping),
        cmocka_unit_test(tokens_are_redacted_but_ids_names_and_numbers_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Posts on their way to a platform: cut into calls, halved, repeated, given up; the walk over authors;
 * samples. */
#include "fetch/engine.h"
#include "fetch/scrub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct platform_desc desc = {
    .platform = PLATFORM_TIKTOK, .tiers = 2, .ids_per_call = {20, 7}, .ids_per_resolve = 1};

struct scene {
    struct gate gate;
    struct account account;
    struct ask asks[50];
};

static struct scene s;

static bool is_number(struct str id)
{
    return id.len && id.p[0] != 'v';
}

static int set_up(void **state)
{
    static struct platform_desc own;
    (void)state;
    own = desc;
    own.is_readable = is_number;
    s = (struct scene){.gate = {.desc = &own}};
    list_init(&s.gate.ready);
    account_init(&s.account, &s.gate, NULL);
    s.account.row = 1;
    for (size_t i = 0; i < 50; i++) {
        list_init(&s.asks[i].link);
        s.asks[i].known.post_id = STR("7077642457847994444");
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return 0;
}

static void queue(size_t n)
{
    for (size_t i = 0; i < n; i++)
        ask_queue(&s.account, &s.asks[i]);
}

/* Sends the batch: its asks are gone, in this order. */
static void expect_batch(struct batch *b, size_t first, size_t count)
{
    assert_non_null(b);
    assert_int_equal(b->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(b->asks.next, &s.asks[first + i].link);
        list_remove(b->asks.next);
    }
    batch_free(b);
}

static void a_queue_is_cut_into_calls(void **state)
{
    (void)state;
    queue(47);
    expect_batch(account_next_batch(&s.account, 0), 0, 20);
    expect_batch(account_next_batch(&s.account, 0), 20, 20);
    expect_batch(account_next_batch(&s.account, 0), 40, 7);
    assert_null(account_next_batch(&s.account, 0));
    account_settle_place(&s.account);
    assert_true(list_is_empty(&s.gate.ready));
}

static void a_form_of_the_request_has_its_own_size(void **state)
{
    (void)state;
    queue(10);
    s.account.tier = 1;
    expect_batch(account_next_batch(&s.account, 0), 0, 7);
    expect_batch(account_next_batch(&s.account, 0), 7, 3);
    queue(30);
    s.account.tier = 0;
    s.gate.options.ids_per_call = 25; /* the operator's */
    expect_batch(account_next_batch(&s.account, 0), 0, 25);
    expect_batch(account_next_batch(&s.account, 0), 25, 5);
    s.gate.tier_least = 1; /* the first form is not granted */
    s.gate.options.ids_per_call = 0;
    assert_int_equal(gate_ids_per_call(&s.gate, CALL_READ, 0), 7);
}

static void ids_to_resolve_go_first_and_alone(void **state)
{
    (void)state;
    s.asks[3].known.post_id = STR("v_pub_url~1");
    s.asks[4].known.post_id = STR("v_pub_url~2");
    s.asks[4].known.resolved_id = STR("7077642457847994444"); /* that one is known */
    queue(5);
    struct batch *b = account_next_batch(&s.account, 0);
    assert_int_equal(b->kind, CALL_RESOLVE);
    expect_batch(b, 3, 1);
    b = account_next_batch(&s.account, 0);
    assert_int_equal(b->kind, CALL_READ);
    assert_int_equal(b->count, 4);
    while (!list_is_empty(&b->asks))
        list_remove(b->asks.next);
    batch_free(b);
}

static void a_batch_is_halved_down_to_one(void **state)
{
    (void)state;
    queue(5);
    struct batch *b = account_next_batch(&s.account, 0), *later = batch_cut(b, 2);
    assert_int_equal(b->count, 2);
    struct batch *last = batch_cut(later, 1);
    expect_batch(b, 0, 2);
    expect_batch(later, 2, 1);
    expect_batch(last, 3, 2);
}

static void repeats_wait_for_their_time_and_go_before_new_ones(void **state)
{
    (void)state;
    int64_t at;
    queue(30);
    struct batch *b = account_next_batch(&s.account, 1000);
    account_repeat(&s.account, b, 1500);
    assert_true(account_is_ready(&s.account, 1000, &at)); /* others are there meanwhile */
    expect_batch(account_next_batch(&s.account, 1499), 20, 10);
    assert_false(account_is_ready(&s.account, 1499, &at));
    assert_int_equal(at, 1500);
    assert_null(account_next_batch(&s.account, 1499));
    assert_true(account_is_ready(&s.account, 1500, &at));
    expect_batch(account_next_batch(&s.account, 1500), 0, 20);
}

static void an_account_that_is_asked_is_not_ready(void **state)
{
    (void)state;
    int64_t at;
    queue(1);
    assert_ptr_equal(s.gate.ready.next, &s.account.link);
    s.account.busy = true;
    account_settle_place(&s.account);
    assert_true(list_is_empty(&s.gate.ready));
    queue(2);
    assert_true(list_is_empty(&s.gate.ready));
    s.account.busy = false;
    account_settle_place(&s.account);
    assert_ptr_equal(s.gate.ready.next, &s.account.link);
    s.account.not_before = 77;
    assert_false(account_is_ready(&s.account, 76, &at));
    assert_int_equal(at, 77);
    expect_batch(account_next_batch(&s.account, 77), 0, 2);
}

static void an_accounts_calls_have_a_rate(void **state)
{
    (void)state;
    int64_t at;
    queue(1);
    bucket_init(&s.account.bucket, 60, 1, 5000);
    assert_true(account_is_ready(&s.account, 5000, &at));
    bucket_take(&s.account.bucket, false, 5000);
    assert_false(account_is_ready(&s.account, 5000, &at));
    assert_int_equal(at, 6000);
    expect_batch(account_next_batch(&s.account, 6000), 0, 1);
}

static void positions_go_round_from_the_first_author(void **state)
{
    (void)state;
    const struct position in_order[] = {{0, false, 7}, {0, false, 9}, {0, true, 1},
                                        {0, true, 6},  {1, false, 7}, {1, true, 2}};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            assert_int_equal((position_cmp(&in_order[i], &in_order[j]) > 0) -
                                 (position_cmp(&in_order[i], &in_order[j]) < 0),
                             (i > j) - (i < j));
}

static void samples_hold_no_tokens(void **state)
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
        scrub(text, n);
        assert_null(strstr(text, "SeCrEt"));
        assert_null(strstr(text, "rft.x"));
        assert_null(strstr(text, "ya29"));
        assert_int_equal(strlen(text), n);
        if (cases[i].out)
            assert_string_equal(text, cases[i].out);
    }
}

#define ASK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ASK_TEST(a_queue_is_cut_into_calls),
        ASK_TEST(a_form_of_the_request_has_its_own_size),
        ASK_TEST(ids_to_resolve_go_first_and_alone),
        ASK_TEST(a_batch_is_halved_down_to_one),
        ASK_TEST(repeats_wait_for_their_time_and_go_before_new_ones),
        ASK_TEST(an_account_that_is_asked_is_not_ready),
        ASK_TEST(an_accounts_calls_have_a_rate),
        ASK_TEST(positions_go_round_from_the_first_author),
        cmocka_unit_test(samples_hold_no_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

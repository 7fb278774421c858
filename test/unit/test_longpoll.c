/* Tests that a long poll misses no commit between its read and its wait. The linker replaces two functions
 * of the server by functions of this file. */
#include "lib/temp_db.h"
#include "unit.h"

#include "api/longpoll.h"

static struct temp_db t;
static uv_loop_t loop;
static struct longpoll *longpoll;
static int woken[3];
static struct request requests[3];
static struct longpoll_wait waits[3];
static struct key_owner owners[3];

enum next __wrap_request_sleep(struct request *r, int64_t deadline_ms);
void __wrap_request_wake(struct request *r);

enum next __wrap_request_sleep(struct request *r, int64_t deadline_ms)
{
    (void)r;
    (void)deadline_ms;
    return NEXT_WAIT;
}

void __wrap_request_wake(struct request *r)
{
    woken[r - requests]++;
}

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    test_begin(&t);
    const struct author author = add_author(&t, 100);
    (void)add_key(&t, &author, 7);
    test_commit(&t);
    assert_int_equal(uv_loop_init(&loop), 0);
    longpoll = longpoll_new(&loop, t.r);
    memset(woken, 0, sizeof woken);
    memset(requests, 0, sizeof requests);
    memset(waits, 0, sizeof waits);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        if (requests[i].on_free)
            requests[i].on_free(&requests[i]);
    longpoll_close(longpoll);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    temp_db_fini(&t);
    return 0;
}

/* Resolves the key of the request, as a request does before it reads the author's data. */
static void resolve(int i)
{
    uint8_t hash[KEY_HASH_LEN];
    struct store_read read = temp_db_read(&t);
    hash_of(7, hash);
    owners[i].version = 0;
    assert_int_equal(store_resolve_key(&read, hash, &owners[i]), NEXT_MORE);
    assert_int_equal(read.err, OK);
}

static void wait_after_read(int i)
{
    assert_int_equal(longpoll_wait(longpoll, &waits[i], &owners[i], &requests[i], INT64_MAX), NEXT_WAIT);
}

static void wait_on(int i)
{
    resolve(i);
    wait_after_read(i);
}

static void commit(uint64_t n)
{
    assert_int_equal(store_begin(t.w), OK);
    (void)add_author(&t, n);
    assert_int_equal(store_commit(t.w), OK);
}

/* Runs the loop for several polling intervals. */
static void run_for_a_while(void)
{
    uv_update_time(&loop);
    for (uint64_t until = uv_now(&loop) + 350; uv_now(&loop) < until;)
        (void)uv_run(&loop, UV_RUN_ONCE);
}

static void request_is_woken_by_a_commit(void **state)
{
    (void)state;
    commit(1);
    wait_on(0);
    run_for_a_while();
    assert_int_equal(woken[0], 0);
    commit(2);
    run_for_a_while();
    assert_int_equal(woken[0], 1);
    wait_on(0);
    run_for_a_while();
    assert_int_equal(woken[0], 1);
}

/* The timer that looks for commits does not run before the first request waits. So the wait itself must
 * detect the earlier commit. */
static void commit_between_read_and_first_wait_wakes_the_request(void **state)
{
    (void)state;
    resolve(0);
    commit(1);
    wait_after_read(0);
    run_for_a_while();
    assert_int_equal(woken[0], 1);
}

static void commit_between_read_and_wait_wakes_a_request_while_another_one_waits(void **state)
{
    (void)state;
    wait_on(0);
    run_for_a_while();
    resolve(1);
    commit(1);
    run_for_a_while();
    assert_int_equal(woken[0], 1);
    wait_on(0);
    wait_after_read(1);
    run_for_a_while();
    assert_int_equal(woken[0], 1);
    assert_int_equal(woken[1], 1);
}

static void requests_wait_until_a_drain_if_there_is_no_commit(void **state)
{
    (void)state;
    wait_on(0);
    wait_on(1);
    wait_on(2);
    run_for_a_while();
    assert_int_equal(woken[0] + woken[1] + woken[2], 0);
    longpoll_drain(longpoll);
    run_for_a_while();
    assert_int_equal(woken[0] + woken[1] + woken[2], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(request_is_woken_by_a_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commit_between_read_and_first_wait_wakes_the_request, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(commit_between_read_and_wait_wakes_a_request_while_another_one_waits,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_wait_until_a_drain_if_there_is_no_commit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

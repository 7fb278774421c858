/* Long polls: no commit between a request's read and its wait is missed. The linker replaces two functions of
 * the server by those below. */
#include "lib/temp_db.h"
#include "unit.h"

#include "api/longpoll.h"

static struct temp_db t;
static uv_loop_t loop;
static struct longpoll *longpoll;
static int woken[3];
static struct request requests[3];
static struct longpoll_wait waits[3];

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

static void wait_on(int i)
{
    assert_int_equal(longpoll_wait(longpoll, &waits[i], &requests[i], INT64_MAX), NEXT_WAIT);
}

static void commit(uint64_t n)
{
    assert_int_equal(store_begin(t.w), OK);
    (void)add_author(&t, n);
    assert_int_equal(store_commit(t.w), OK);
}

/* Several times the polling interval. */
static void run_for_a_while(void)
{
    uv_update_time(&loop);
    for (uint64_t until = uv_now(&loop) + 350; uv_now(&loop) < until;)
        (void)uv_run(&loop, UV_RUN_ONCE);
}

/* The first waiter's read may be older than the first version that the timer polls, so it reads again. */
static void first_waiter_is_woken_to_read_once_more(void **state)
{
    (void)state;
    commit(1);
    wait_on(0);
    run_for_a_while();
    assert_int_equal(woken[0], 1);
    /* The second wait of the same request cannot have missed a commit, so the request is not woken. */
    wait_on(0);
    run_for_a_while();
    assert_int_equal(woken[0], 1);
    commit(2);
    run_for_a_while();
    assert_int_equal(woken[0], 2);
}

/* While other requests wait, the timer polls. A commit after the new request's read is therefore newer than
 * the last polled version, and wakes the request. */
static void commit_between_read_and_wait_wakes_further_waiters(void **state)
{
    (void)state;
    wait_on(0);
    run_for_a_while();
    wait_on(0);
    assert_int_equal(woken[0], 1);
    commit(1); /* after the read of the second request */
    wait_on(1);
    run_for_a_while();
    assert_int_equal(woken[0], 2);
    assert_int_equal(woken[1], 1);
}

static void waiters_are_woken_only_by_a_commit_or_a_drain(void **state)
{
    (void)state;
    wait_on(0);
    run_for_a_while();
    wait_on(0);
    wait_on(1);
    wait_on(2);
    run_for_a_while();
    assert_int_equal(woken[0], 1);
    assert_int_equal(woken[1] + woken[2], 0);
    longpoll_drain(longpoll);
    run_for_a_while();
    assert_int_equal(woken[0] + woken[1] + woken[2], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(first_waiter_is_woken_to_read_once_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commit_between_read_and_wait_wakes_further_waiters, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(waiters_are_woken_only_by_a_commit_or_a_drain, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tests that the ticket lock has one holder at a time, in FIFO order. */
#include "store/ticket_lock.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 2000 };

static struct ticket_lock *lock;
static int holders, most_holders;
static char acquired_by[THREADS * ROUNDS];
static int acquired;
static pthread_barrier_t barrier;

static void *acquire_repeatedly(void *arg)
{
    const char name = *(const char *)arg;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        ticket_lock_acquire(lock);
        holders++;
        most_holders = holders > most_holders ? holders : most_holders;
        acquired_by[acquired++] = name;
        sched_yield();
        holders--;
        ticket_lock_release(lock);
    }
    return NULL;
}

static void lock_has_one_holder_at_a_time(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    static const char names[THREADS] = "abcd";
    lock = ticket_lock_new();
    acquired = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, acquire_repeatedly, (void *)(uintptr_t)&names[i]),
                         0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(acquired, THREADS * ROUNDS);
    assert_int_equal(most_holders, 1);
    pthread_barrier_destroy(&barrier);
    ticket_lock_free(lock);
}

static atomic_bool is_waiting;
static atomic_int order;
static int waiter_order, holder_order;

static void *waiter(void *arg)
{
    (void)arg;
    atomic_store(&is_waiting, true);
    ticket_lock_acquire(lock);
    waiter_order = atomic_fetch_add(&order, 1);
    ticket_lock_release(lock);
    return NULL;
}

/* A plain mutex would let the holder acquire it again before the waiter wakes up. */
static void reacquiring_thread_queues_behind_waiters(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        pthread_t thread;
        lock = ticket_lock_new();
        atomic_store(&is_waiting, false);
        atomic_store(&order, 0);
        ticket_lock_acquire(lock);
        assert_int_equal(pthread_create(&thread, NULL, waiter, NULL), 0);
        while (!atomic_load(&is_waiting) || ticket_lock_waiters(lock) == 0)
            sched_yield();
        ticket_lock_release(lock);
        ticket_lock_acquire(lock);
        holder_order = atomic_fetch_add(&order, 1);
        ticket_lock_release(lock);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(waiter_order < holder_order);
        ticket_lock_free(lock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_has_one_holder_at_a_time),
        cmocka_unit_test(reacquiring_thread_queues_behind_waiters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The gate: one at a time, in the order of coming, also when one comes back at once. */
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

enum { THREADS = 4, TURNS = 2000 };

static struct gate *gate;
static int inside, most_inside;
static char turns[THREADS * TURNS];
static int turn_count;
static pthread_barrier_t barrier;

static void *greedy(void *arg)
{
    const char name = *(const char *)arg;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < TURNS; i++) {
        gate_enter(gate);
        inside++;
        most_inside = inside > most_inside ? inside : most_inside;
        turns[turn_count++] = name;
        sched_yield();
        inside--;
        gate_leave(gate);
    }
    return NULL;
}

static void one_at_a_time(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    static const char names[THREADS] = "abcd";
    gate = gate_new();
    turn_count = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, greedy, (void *)(uintptr_t)&names[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(turn_count, THREADS * TURNS);
    assert_int_equal(most_inside, 1);
    pthread_barrier_destroy(&barrier);
    gate_free(gate);
}

static atomic_bool at_the_door;
static atomic_int order;
static int waiter_came, holder_came_back;

static void *waiter(void *arg)
{
    (void)arg;
    atomic_store(&at_the_door, true);
    gate_enter(gate);
    waiter_came = atomic_fetch_add(&order, 1);
    gate_leave(gate);
    return NULL;
}

/* Who leaves and comes back at once stands behind those who waited: a plain mutex would let it in again. */
static void who_comes_back_stands_at_the_end(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        pthread_t thread;
        gate = gate_new();
        atomic_store(&at_the_door, false);
        atomic_store(&order, 0);
        gate_enter(gate);
        assert_int_equal(pthread_create(&thread, NULL, waiter, NULL), 0);
        while (!atomic_load(&at_the_door) || gate_waiting(gate) == 0)
            sched_yield();
        gate_leave(gate);
        gate_enter(gate);
        holder_came_back = atomic_fetch_add(&order, 1);
        gate_leave(gate);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(waiter_came < holder_came_back);
        gate_free(gate);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(who_comes_back_stands_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A lock of tickets: numbers are drawn at the door and called in order. */
#include "store/ticket_lock.h"

#include "base/check.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t called;
    uint64_t drawn, serving; /* equal: nobody is inside */
};

struct gate *gate_new(void)
{
    struct gate *g = xcalloc(1, sizeof *g);
    CHECK(pthread_mutex_init(&g->mutex, NULL) == 0 && pthread_cond_init(&g->called, NULL) == 0);
    return g;
}

void gate_free(struct gate *g)
{
    CHECK(g->drawn == g->serving);
    CHECK(pthread_cond_destroy(&g->called) == 0 && pthread_mutex_destroy(&g->mutex) == 0);
    free(g);
}

void gate_enter(struct gate *g)
{
    CHECK(pthread_mutex_lock(&g->mutex) == 0);
    const uint64_t ticket = g->drawn++;
    while (g->serving != ticket)
        CHECK(pthread_cond_wait(&g->called, &g->mutex) == 0);
    CHECK(pthread_mutex_unlock(&g->mutex) == 0);
}

void gate_leave(struct gate *g)
{
    CHECK(pthread_mutex_lock(&g->mutex) == 0);
    CHECK(g->serving < g->drawn);
    g->serving++;
    CHECK(pthread_cond_broadcast(&g->called) == 0);
    CHECK(pthread_mutex_unlock(&g->mutex) == 0);
}

int gate_waiting(struct gate *g)
{
    CHECK(pthread_mutex_lock(&g->mutex) == 0);
    const uint64_t drawn = g->drawn - g->serving;
    CHECK(pthread_mutex_unlock(&g->mutex) == 0);
    return drawn > 1 ? (int)(drawn - 1) : 0;
}

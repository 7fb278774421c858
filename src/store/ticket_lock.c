/* A FIFO ticket lock. */
#include "store/ticket_lock.h"

#include "base/check.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct ticket_lock {
    pthread_mutex_t mutex;
    pthread_cond_t served;
    uint64_t next_ticket, serving; /* both are equal if the lock is free */
};

struct ticket_lock *ticket_lock_new(void)
{
    struct ticket_lock *l = xcalloc(1, sizeof *l);
    CHECK(pthread_mutex_init(&l->mutex, NULL) == 0 && pthread_cond_init(&l->served, NULL) == 0);
    return l;
}

void ticket_lock_free(struct ticket_lock *l)
{
    CHECK(l->next_ticket == l->serving);
    CHECK(pthread_cond_destroy(&l->served) == 0 && pthread_mutex_destroy(&l->mutex) == 0);
    free(l);
}

void ticket_lock_acquire(struct ticket_lock *l)
{
    CHECK(pthread_mutex_lock(&l->mutex) == 0);
    const uint64_t ticket = l->next_ticket++;
    while (l->serving != ticket)
        CHECK(pthread_cond_wait(&l->served, &l->mutex) == 0);
    CHECK(pthread_mutex_unlock(&l->mutex) == 0);
}

void ticket_lock_release(struct ticket_lock *l)
{
    CHECK(pthread_mutex_lock(&l->mutex) == 0);
    CHECK(l->serving < l->next_ticket);
    l->serving++;
    CHECK(pthread_cond_broadcast(&l->served) == 0);
    CHECK(pthread_mutex_unlock(&l->mutex) == 0);
}

int ticket_lock_waiters(struct ticket_lock *l)
{
    CHECK(pthread_mutex_lock(&l->mutex) == 0);
    const uint64_t held_or_waiting = l->next_ticket - l->serving;
    CHECK(pthread_mutex_unlock(&l->mutex) == 0);
    return held_or_waiting > 1 ? (int)(held_or_waiting - 1) : 0;
}

/* A FIFO lock for the writing threads of this process. SQLite's own lock has no queue: a waiting connection
 * polls it and can be passed over for long. The writer queue, the checkpointer and a refresh run therefore
 * acquire this lock first. Other processes are not covered. */
#ifndef VT_STORE_TICKET_LOCK_H
#define VT_STORE_TICKET_LOCK_H

struct ticket_lock;

struct ticket_lock *ticket_lock_new(void);
void ticket_lock_free(struct ticket_lock *l); /* must not be held or waited for */

/* Blocks until the lock is acquired. Not recursive. */
void ticket_lock_acquire(struct ticket_lock *l);
void ticket_lock_release(struct ticket_lock *l);

/* Number of waiting threads. */
int ticket_lock_waiters(struct ticket_lock *l);

#endif

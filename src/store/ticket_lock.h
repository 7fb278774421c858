/* A FIFO lock for the writing threads of this process. SQLite's own lock has no queue: a waiting connection
 * polls the lock, and other connections may acquire it first many times. So the writer queue, the
 * checkpointer, refresh runs, scheduled backups and the delivery of webhooks acquire this lock first. It does
 * not cover other processes. */
#ifndef VT_STORE_TICKET_LOCK_H
#define VT_STORE_TICKET_LOCK_H

struct ticket_lock;

struct ticket_lock *ticket_lock_new(void);
void ticket_lock_free(struct ticket_lock *l); /* precondition: no thread holds the lock or waits for it */

/* Blocks until the lock is acquired. Not recursive. */
void ticket_lock_acquire(struct ticket_lock *l);
void ticket_lock_release(struct ticket_lock *l);

/* Returns the number of waiting threads. */
int ticket_lock_waiters(struct ticket_lock *l);

#endif

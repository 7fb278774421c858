/* Steps and waiters. A request, like any longer work on the event loop, is a chain of step functions. Each
 * step returns an enum next, which tells the engine when to run the next step. So an operation that completes
 * immediately and an operation that completes later take the same path, and no callback runs before the
 * function that started the operation has returned. */
#ifndef VT_BASE_NEXT_H
#define VT_BASE_NEXT_H

enum next {
    NEXT_MORE,  /* run the next step now */
    NEXT_WAIT,  /* one waiter is armed: run the next step when it completes */
    NEXT_YIELD, /* run the next step in the next loop iteration, so that other work is not delayed */
    NEXT_DONE,  /* the work is complete: run no further step */
};

/* Waits for one operation. The code that starts the operation owns the waiter, for example in a request's
 * arena. The driver (database, Redis, thread pool, timer) performs the operation. If it cannot complete the
 * operation immediately, the driver arms the waiter, stores a pointer to it in a call record on the heap, and
 * returns NEXT_WAIT.
 *
 * The driver calls `wake` at most once, and never before the function that armed the waiter has returned. If
 * the owner cancels the waiter first, `cancel` clears the pointer in the call record. When the operation
 * completes, the driver then only frees the call record. */
struct waiter {
    void (*wake)(struct waiter *w);   /* set by the owner before it starts an operation */
    void (*cancel)(struct waiter *w); /* set by the driver that arms the waiter; NULL if not armed */
    void *call;                       /* the driver's call record */
};

static inline int waiter_is_armed(const struct waiter *w)
{
    return w->cancel != 0;
}

/* Disarms the waiter, then calls `wake`. The driver calls this function when the operation is complete. */
static inline void waiter_complete(struct waiter *w)
{
    w->cancel = 0;
    w->call = 0;
    w->wake(w);
}

/* Cancels the wait: `wake` will not be called. The owner calls this function. Does nothing if the waiter is
 * not armed. */
static inline void waiter_cancel(struct waiter *w)
{
    void (*cancel)(struct waiter *) = w->cancel;
    if (cancel) {
        w->cancel = 0;
        cancel(w);
        w->call = 0;
    }
}

#endif

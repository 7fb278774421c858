/* Steps and waiters. A request, like any longer work on the loop, is a chain of step functions. A step that
 * starts an operation RETURNS what comes next, so an operation that completes at once and one that completes
 * later take the same path, and no callback runs before the function that started the operation returns. */
#ifndef VT_BASE_NEXT_H
#define VT_BASE_NEXT_H

enum next {
    NEXT_MORE,  /* run the next step now */
    NEXT_WAIT,  /* exactly one waiter is armed: run the next step when it completes */
    NEXT_YIELD, /* run the next step in the next loop iteration, so that other work is not delayed */
    NEXT_DONE,  /* complete */
};

/* Waits for one operation. The caller owns it, for example in a request's arena. A driver (database, Redis,
 * job, timer) that cannot complete at once arms it, stores a pointer to it in a call record on the heap, and
 * returns NEXT_WAIT.
 *
 * The driver calls `wake` at most once, and never before the function that armed the waiter has returned. The
 * owner may cancel first: the driver's `cancel` clears the pointer, and when the operation completes, the
 * driver only frees its record. */
struct waiter {
    void (*wake)(struct waiter *w);   /* set by the owner before it starts an operation */
    void (*cancel)(struct waiter *w); /* set by the driver that armed it; NULL when not armed */
    void *call;                       /* the driver's record */
};

static inline int waiter_is_armed(const struct waiter *w)
{
    return w->cancel != 0;
}

/* Called by the driver when the operation is complete: disarms the waiter, then wakes it. */
static inline void waiter_complete(struct waiter *w)
{
    w->cancel = 0;
    w->call = 0;
    w->wake(w);
}

/* Called by the owner to abandon the operation. Does nothing if the waiter is not armed. */
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

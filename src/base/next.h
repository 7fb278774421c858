/* The vocabulary of steps. A request, or any longer work on the loop, is a chain of step functions; a step
 * that starts something RETURNS what comes next, so an answer that is there at once and one that comes later
 * take the same path, and no callback runs before its starter has returned. */
#ifndef VT_BASE_NEXT_H
#define VT_BASE_NEXT_H

enum next {
    NEXT_MORE,  /* run the next step now */
    NEXT_WAIT,  /* exactly one wait is armed: run the next step when it is over */
    NEXT_YIELD, /* run the next step after the loop has turned: somebody else's turn */
    NEXT_DONE,  /* complete */
};

/* One wait. It lives with the waiting side (in a request's arena). A driver (database, Redis, job, timer)
 * that cannot answer at once arms it, keeps a pointer to it in a call record of its own on the heap, and
 * returns NEXT_WAIT.
 *
 * The driver calls `wake` at most once and never before the starter has returned. The waiting side may leave
 * earlier: waiter_cancel() nulls the driver's pointer, the late answer then frees the record and does
 * nothing.
 */
struct waiter {
    void (*wake)(struct waiter *w);   /* set by the waiting side before anything is started */
    void (*cancel)(struct waiter *w); /* set by the driver that armed it; NULL when not armed */
    void *call;                       /* the driver's record */
};

static inline int waiter_is_armed(const struct waiter *w)
{
    return w->cancel != 0;
}

/* Disarms, then wakes: what a driver calls when its answer is there. */
static inline void waiter_complete(struct waiter *w)
{
    w->cancel = 0;
    w->call = 0;
    w->wake(w);
}

/* Leaves without an answer; nothing happens when it is not armed. */
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

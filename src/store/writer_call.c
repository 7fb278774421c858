/* A write job that completes a waiter. It is allocated on the heap, because the request may end before the
 * job. */
#include "store/writer_call.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

struct writer_call {
    /* Must be the first member, because a pointer to the job is cast to a pointer to the call. */
    struct writer_job job;
    struct waiter *waiter; /* NULL if the waiter was canceled */
    enum err *result;
    void *data;
    writer_call_fn *work;
    size_t size;
    char *original; /* the caller's data, because `work` may change the copy and then run again */
    char copy[] __attribute__((aligned(16)));
};

static void writer_call_free(struct writer_call *call)
{
    explicit_bzero(call->copy, call->size);
    explicit_bzero(call->original, call->size);
    free(call->original);
    free(call);
}

static enum err run(struct writer_job *job, struct store *store)
{
    struct writer_call *call = (struct writer_call *)job;
    memcpy(call->copy, call->original, call->size);
    return call->work(store, call->copy);
}

static void done(struct writer_job *job, enum err err)
{
    struct writer_call *call = (struct writer_call *)job;
    struct waiter *waiter = call->waiter;
    if (waiter) {
        memcpy(call->data, call->copy, call->size);
        *call->result = err;
    }
    writer_call_free(call);
    if (waiter)
        waiter_complete(waiter);
}

static void cancel(struct waiter *waiter)
{
    struct writer_call *call = waiter->call;
    call->waiter = NULL;
}

enum next writer_call(struct writer *w, struct waiter *waiter, enum err *result, writer_call_fn *work,
                      void *data, size_t size)
{
    CHECK(!waiter_is_armed(waiter));
    struct writer_call *call = xcalloc(1, sizeof *call + size);
    *call = (struct writer_call){.job = {.work = run, .done = done},
                                 .waiter = waiter,
                                 .result = result,
                                 .data = data,
                                 .work = work,
                                 .size = size,
                                 .original = xmalloc(size)};
    memcpy(call->original, data, size);
    memcpy(call->copy, data, size); /* `work` does not run if no transaction can begin */
    *result = writer_submit(w, &call->job);
    if (*result) {
        writer_call_free(call);
        return NEXT_MORE;
    }
    waiter->call = call;
    waiter->cancel = cancel;
    return NEXT_WAIT;
}

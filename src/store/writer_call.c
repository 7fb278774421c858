/* The record between a request and the writer queue: on the heap, for the request may leave first. */
#include "store/writer_call.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

struct writer_call {
    struct writer_job job; /* first: a job is its call */
    struct waiter *wait;   /* NULL: the request has left */
    enum err *result;
    void *data;
    writer_call_fn *work;
    size_t size;
    char copy[] __attribute__((aligned(16)));
};

static void writer_call_free(struct writer_call *call)
{
    explicit_bzero(call->copy, call->size);
    free(call);
}

static enum err run(struct writer_job *job, struct store *store)
{
    struct writer_call *call = (struct writer_call *)job;
    return call->work(store, call->copy);
}

static void done(struct writer_job *job, enum err err)
{
    struct writer_call *call = (struct writer_call *)job;
    struct waiter *wait = call->wait;
    if (wait) {
        memcpy(call->data, call->copy, call->size); /* which may hold the result */
        *call->result = err;
    }
    writer_call_free(call);
    if (wait)
        waiter_complete(wait);
}

static void leave(struct waiter *wait)
{
    struct writer_call *call = wait->call;
    call->wait = NULL;
}

enum next writer_call(struct writer *w, struct waiter *wait, enum err *result, writer_call_fn *work,
                      void *data, size_t size)
{
    CHECK(!waiter_is_armed(wait));
    struct writer_call *call = xcalloc(1, sizeof *call + size);
    *call = (struct writer_call){.job = {.work = run, .done = done},
                                 .wait = wait,
                                 .result = result,
                                 .data = data,
                                 .work = work,
                                 .size = size};
    memcpy(call->copy, data, size);
    *result = writer_submit(w, &call->job);
    if (*result) {
        writer_call_free(call);
        return NEXT_MORE;
    }
    wait->call = call;
    wait->cancel = leave;
    return NEXT_WAIT;
}

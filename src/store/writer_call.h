/* A write job that a request waits for: struct writer_job for the step engine (base/next.h). */
#ifndef VT_STORE_WRITER_CALL_H
#define VT_STORE_WRITER_CALL_H

#include "base/next.h"
#include "store/writer.h"

/* Runs in the transaction, on a pool thread. `data` is the job's own copy, which it may change. It must not
 * contain pointers into the request, so texts are arrays in it. */
typedef enum err writer_call_fn(struct store *store, void *data);

/* Submits a job that runs `work` on a copy of `data`. Set the request's next step before.
 *
 * NEXT_WAIT: when the waiter is completed, `*result` has the result (OK: it is on disk) and `data` the
 * changed copy; both must live as long as the waiter. If the waiter is canceled, the job still runs.
 * NEXT_MORE: the job could not be submitted; `*result` has the error.
 * All copies are wiped. */
enum next writer_call(struct writer *w, struct waiter *waiter, enum err *result, writer_call_fn *work,
                      void *data, size_t size);

#endif

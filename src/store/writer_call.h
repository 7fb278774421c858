/* A write job that a request waits for: adapts struct writer_job to the request steps of base/next.h. */
#ifndef VT_STORE_WRITER_CALL_H
#define VT_STORE_WRITER_CALL_H

#include "base/next.h"
#include "store/writer.h"

/* The work of a job. Called on a pool thread, in the transaction. `data` is the job's own copy, which the
 * function may change: each call of the function gets a new copy. It must not contain pointers into the
 * request: store texts in arrays. */
typedef enum err writer_call_fn(struct store *store, void *data);

/* Submits a job that runs `work` on a copy of `data`. Set the request's next step before the call.
 *
 * Returns NEXT_WAIT if the job was submitted. When the waiter is completed, `*result` is the result (OK: the
 * transaction is on disk) and `data` is the changed copy; both must live as long as the waiter. If the waiter
 * is canceled, the job still runs. Returns NEXT_MORE if the job could not be submitted; `*result` is the
 * error. The job's copy is wiped in all cases. */
enum next writer_call(struct writer *w, struct waiter *waiter, enum err *result, writer_call_fn *work,
                      void *data, size_t size);

#endif

/* A write job that a request waits for: struct writer_job with the vocabulary of base/next.h. */
#ifndef VT_STORE_WRITE_CALL_H
#define VT_STORE_WRITE_CALL_H

#include "base/next.h"
#include "store/writer.h"

/* In the transaction, on a pool thread. `data` is the job's copy: it may be written, and holds no pointer
 * into the request (texts are arrays in it). */
typedef enum err writer_call_fn(struct store *store, void *data);

/* Submits a job that runs `work` on a copy of the `size` bytes at `data`. A starter: set the next step
 * before.
 *
 * NEXT_WAIT: when the wait is over, `*result` says what came of it (OK: it is on disk) and the copy has come
 * back to `data`; both live as long as the wait. When the wait is cancelled the job still runs, unheard.
 * NEXT_MORE: it could not be submitted, and `*result` says why. The copies are wiped. */
enum next writer_call(struct writer *w, struct waiter *wait, enum err *result, writer_call_fn *work,
                      void *data, size_t size);

#endif

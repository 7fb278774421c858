/* Bounded write transactions, so that the server's writes and other imports are not delayed for long. */
#include "import/import_batch.h"

#include "base/clock.h"

#include <time.h>

enum {
    BATCH_ROWS = 2000,
    BATCH_US = 200 * 1000,
    PAUSE_US = 1000, /* between batches */
};

enum err import_batch_begin(struct import *im)
{
    im->batch.rows = 0;
    enum err err = transaction_begin(&im->scope);
    im->batch.started_us =
        clock_work_us(); /* time measured from here on excludes the wait for another writer */
    return err ? import_fail_store(im, err) : OK;
}

bool import_batch_is_full(const struct import *im)
{
    return im->batch.rows >= BATCH_ROWS || clock_work_us() - im->batch.started_us >= BATCH_US;
}

static enum err commit(struct import *im)
{
    const struct import_observer *o = &im->options->observer;
    enum err err = o->on_commit ? o->on_commit(o->ctx, im->has_last ? &im->last : NULL) : OK;
    if (!err)
        return transaction_commit(&im->scope);
    transaction_rollback(&im->scope);
    return err;
}

/* Pauses after the commit: SQLite's write lock has no queue, and waiting processes poll it, so they need time
 * to acquire it. If the caller has passed a transaction scope, the commit function of the scope pauses
 * (run_commit()). */
enum err import_batch_end(struct import *im, enum err err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_US * 1000L};
    if (err) {
        transaction_rollback(&im->scope);
        return err;
    }
    err = commit(im);
    if (err)
        return import_fail_store(im, err);
    if (!im->options->scope)
        (void)nanosleep(&pause, NULL);
    return OK;
}

enum err import_heartbeat(struct import *im)
{
    enum err err = transaction_heartbeat(&im->scope);
    return err ? import_fail(im, err, "stopped: %s", err_name(err)) : OK;
}

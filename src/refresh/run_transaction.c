/* Transactions of a run. Each of them holds the write lock of the process. Each verifies the lease of the
 * run, except those that run_begin_unleased() begins. */
#include "base/check.h"
#include "base/clock.h"
#include "refresh/run_internal.h"
#include "store/ticket_lock.h"

#include <time.h>

/* Pause after each transaction. A writer of another process polls SQLite's lock and needs a gap. */
enum { PAUSE_US = 1000 };

static bool is_stopping(const struct run *run)
{
    return run->lease_is_lost || (run->options->stop && atomic_load(run->options->stop));
}

static void end_transaction(struct run *run)
{
    run->in_transaction = false;
    memset(run->pending, 0, sizeof run->pending);
    if (run->options->write_lock)
        ticket_lock_release(run->options->write_lock);
}

enum err run_begin_unleased(struct run *run)
{
    CHECK(!run->in_transaction);
    if (run->options->write_lock)
        ticket_lock_acquire(run->options->write_lock);
    run->in_transaction = true;
    run->had_cause = run->report->why[0] != '\0';
    const enum err err = store_begin(run->store);
    if (!err)
        return OK;
    end_transaction(run);
    return run_fail_database(run, err);
}

enum err run_begin_final(struct run *run)
{
    if (run->lease_is_lost)
        return ERR_CANCELED;
    enum err err = run_begin_unleased(run);
    if (err)
        return err;
    err = lease_renew(&run->lease, run->store);
    if (!err)
        return OK;
    run->lease_is_lost = err == ERR_CANCELED;
    run_rollback(run);
    return run->lease_is_lost ? err : run_fail_database(run, err);
}

enum err run_begin(struct run *run)
{
    return is_stopping(run) ? ERR_CANCELED : run_begin_final(run);
}

static void add_pending_counts(struct run *run)
{
    if (!run->source)
        return;
    for (int p = 0; p < REFRESH_PLATFORMS; p++)
        for (int c = 0; c < RUN_COUNTERS; c++)
            run->report->counts.n[run->source->kind][p][c] += run->pending[p][c];
}

enum err run_commit(struct run *run)
{
    const struct timespec pause = {.tv_nsec = PAUSE_US * 1000L};
    CHECK(run->in_transaction);
    /* Verify the lease again, because the transaction may have taken long: a step is never interrupted. */
    enum err err = run->source ? lease_renew(&run->lease, run->store) : OK;
    if (err)
        store_rollback(run->store);
    else
        err = store_commit(run->store);
    if (!err)
        add_pending_counts(run);
    else
        run->lease.renewed_at = TIME_NONE; /* a renewal in this transaction was rolled back */
    end_transaction(run);
    if (err)
        return run_fail_database(run, err);
    (void)nanosleep(&pause, NULL);
    return OK;
}

void run_rollback(struct run *run)
{
    CHECK(run->in_transaction);
    store_rollback(run->store);
    run->lease.renewed_at = TIME_NONE;
    end_transaction(run);
}

/* --- transaction scopes --- */

static enum err scope_begin(void *ctx)
{
    return run_begin(ctx);
}

static enum err scope_commit(void *ctx)
{
    return run_commit(ctx);
}

static void scope_rollback(void *ctx)
{
    run_rollback(ctx);
}

/* If the transaction runs again, it has not failed, so its error is not the cause of a failure. */
static bool scope_should_repeat(void *ctx, int *repeats)
{
    struct run *run = ctx;
    if (!store_should_repeat(run->store, repeats))
        return false;
    if (!run->had_cause)
        run->report->why[0] = '\0';
    return true;
}

static enum err scope_heartbeat(void *ctx)
{
    return run_heartbeat(ctx);
}

struct transaction_scope run_transactions(struct run *run)
{
    return (struct transaction_scope){.store = run->store,
                                      .ctx = run,
                                      .begin = scope_begin,
                                      .commit = scope_commit,
                                      .rollback = scope_rollback,
                                      .should_repeat = scope_should_repeat,
                                      .heartbeat = scope_heartbeat};
}

static enum err unleased_begin(void *ctx)
{
    return run_begin_unleased(ctx);
}

static enum err unleased_commit(void *ctx)
{
    struct run *run = ctx;
    CHECK(run->in_transaction);
    const enum err err = store_commit(run->store);
    if (!err)
        add_pending_counts(run);
    end_transaction(run);
    return err ? run_fail_database(run, err) : OK;
}

struct transaction_scope run_unleased_transactions(struct run *run)
{
    return (struct transaction_scope){.store = run->store,
                                      .ctx = run,
                                      .begin = unleased_begin,
                                      .commit = unleased_commit,
                                      .rollback = scope_rollback,
                                      .should_repeat = scope_should_repeat,
                                      .heartbeat = scope_heartbeat};
}

/* --- whole transactions --- */

static enum err transact(struct run *run, enum err (*begin)(void *ctx), transaction_work *work, void *ctx)
{
    struct transaction_scope scope = run_transactions(run);
    scope.begin = begin;
    const enum err err = transaction_run_repeatable(&scope, work, ctx);
    return err ? run_fail_database(run, err) : OK;
}

static enum err final_begin(void *ctx)
{
    return run_begin_final(ctx);
}

enum err run_transact(struct run *run, transaction_work *work, void *ctx)
{
    return transact(run, scope_begin, work, ctx);
}

enum err run_transact_final(struct run *run, transaction_work *work, void *ctx)
{
    return transact(run, final_begin, work, ctx);
}

enum err run_transact_unleased(struct run *run, transaction_work *work, void *ctx)
{
    return transact(run, unleased_begin, work, ctx);
}

/* The beginning of the transaction renews the lease. */
static enum err do_nothing(struct store *store, void *ctx)
{
    (void)store;
    (void)ctx;
    return OK;
}

enum err run_heartbeat(struct run *run)
{
    if (is_stopping(run))
        return ERR_CANCELED;
    return lease_renewal_is_due(&run->lease) ? run_transact_final(run, do_nothing, NULL) : OK;
}

/* A transaction scope: lets a module write on a connection whose transactions another module controls. In
 * a refresh run, an import uses the transactions of the run, which check the lease. A token refresh in a run
 * uses transactions that do not check it (run_unleased_transactions()), because new tokens must be stored
 * even if the lease is lost. Both hold the lock of the server's writes (ticket_lock.h). In other commands,
 * both use plain transactions. */
#ifndef VT_STORE_TRANSACTION_SCOPE_H
#define VT_STORE_TRANSACTION_SCOPE_H

#include "base/error.h"
#include "store/store.h"

struct transaction_scope {
    struct store *store; /* an open STORE_WRITE connection */
    void *ctx;
    enum err (*begin)(void *ctx);
    enum err (*commit)(void *ctx);
    void (*rollback)(void *ctx);
    bool (*should_repeat)(void *ctx, int *repeats);
    enum err (*heartbeat)(void *ctx); /* NULL: always OK */
};

/* Returns the scope of plain transactions: store_begin(), store_commit(), store_rollback(). */
struct transaction_scope transaction_scope_plain(struct store *store);

/* Begin, commit or roll back a transaction. If begin or commit fails, no transaction is open afterwards. On
 * ERR_CANCELED the caller must stop. */
MUST_USE enum err transaction_begin(const struct transaction_scope *t);
MUST_USE enum err transaction_commit(const struct transaction_scope *t);
void transaction_rollback(const struct transaction_scope *t);

/* Lets a long-running scope renew its lease. Call at least every second while no transaction is open. On
 * ERR_CANCELED the caller must stop. */
MUST_USE enum err transaction_heartbeat(const struct transaction_scope *t);

typedef enum err transaction_work(struct store *store, void *ctx);
/* Runs `work` in one transaction. Commits if `work` returns OK; otherwise rolls back and returns its error.
 */
MUST_USE enum err transaction_run(const struct transaction_scope *t, transaction_work *work, void *ctx);
/* Like transaction_run(), but runs `work` again, in a new transaction, if a deadlock has ended the
 * transaction (store_should_repeat()). So `work` must not depend on what an earlier call has stored in
 * `*ctx`. */
MUST_USE enum err transaction_run_repeatable(const struct transaction_scope *t, transaction_work *work,
                                             void *ctx);

#endif

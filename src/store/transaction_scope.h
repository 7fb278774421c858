/* A transaction scope: how a module writes on a connection whose transactions another module controls. An
 * import and a token refresh write in the transactions of the refresh run that started them (under its lease,
 * in turn with the server's writes); from a command they write in plain ones. */
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
    enum err (*heartbeat)(void *ctx); /* NULL: always OK */
};

/* The scope of plain transactions: store_begin(), store_commit(), store_rollback(). */
struct transaction_scope transaction_scope_plain(struct store *store);

/* If begin or commit fails, no transaction is open afterwards. ERR_CANCELED from any of them: stop. */
MUST_USE enum err transaction_begin(const struct transaction_scope *t);
MUST_USE enum err transaction_commit(const struct transaction_scope *t);
void transaction_rollback(const struct transaction_scope *t);

/* Call at least every second outside of transactions, so that a long-running owner can renew its lease.
 * ERR_CANCELED: stop. */
MUST_USE enum err transaction_heartbeat(const struct transaction_scope *t);

/* Runs `work` in one transaction: commits if it returns OK, else rolls back and returns its error. */
typedef enum err transaction_work(struct store *store, void *ctx);
MUST_USE enum err transaction_run(const struct transaction_scope *t, transaction_work *work, void *ctx);

#endif

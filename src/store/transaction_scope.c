/* Calls the functions of a scope, and provides the scope of plain transactions. */
#include "store/transaction_scope.h"

#include "store/write.h"

static enum err plain_begin(void *ctx)
{
    return store_begin(ctx);
}

static enum err plain_commit(void *ctx)
{
    return store_commit(ctx);
}

static void plain_rollback(void *ctx)
{
    store_rollback(ctx);
}

static bool plain_should_repeat(void *ctx, int *repeats)
{
    return store_should_repeat(ctx, repeats);
}

struct transaction_scope transaction_scope_plain(struct store *store)
{
    return (struct transaction_scope){.store = store,
                                      .ctx = store,
                                      .begin = plain_begin,
                                      .commit = plain_commit,
                                      .rollback = plain_rollback,
                                      .should_repeat = plain_should_repeat};
}

enum err transaction_begin(const struct transaction_scope *t)
{
    return t->begin(t->ctx);
}

enum err transaction_commit(const struct transaction_scope *t)
{
    return t->commit(t->ctx);
}

void transaction_rollback(const struct transaction_scope *t)
{
    t->rollback(t->ctx);
}

enum err transaction_heartbeat(const struct transaction_scope *t)
{
    return t->heartbeat ? t->heartbeat(t->ctx) : OK;
}

enum err transaction_run(const struct transaction_scope *t, transaction_work *work, void *ctx)
{
    enum err err = t->begin(t->ctx);
    if (err)
        return err;
    err = work(t->store, ctx);
    if (!err)
        return t->commit(t->ctx);
    t->rollback(t->ctx);
    return err;
}

enum err transaction_run_repeatable(const struct transaction_scope *t, transaction_work *work, void *ctx)
{
    int repeats = 0;
    enum err err;
    do
        err = transaction_run(t, work, ctx);
    while (err == ERR_BUSY && t->should_repeat(t->ctx, &repeats));
    return err;
}

/* Locks, migrates and opens the configured database. */
#include "cli/database.h"

#include "cli/output.h"
#include "store/transaction_scope.h"

enum { ARENA_BYTES = 4096 };

bool cli_lock_database(struct cli *cli, bool creates)
{
    struct error error;
    if (cli->lock.file.fd >= 0 ||
        database_lock_share(&cli->lock, cli->config.store.path, creates, &error) == OK)
        return true;
    (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return false;
}

bool cli_migrate_store(struct cli *cli, bool creates)
{
    const char *path = cli->config.store.path;
    struct error error;
    int applied;
    if (!cli_lock_database(cli, creates))
        return false;
    enum err err = creates ? store_create(path, &applied, &error) : store_migrate(path, &applied, &error);
    if (err)
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return !err;
}

struct store *cli_open_store(struct cli *cli)
{
    struct store *store = NULL;
    struct error error;
    struct store_options options = {.path = cli->config.store.path,
                                    .mode = STORE_WRITE,
                                    .busy_timeout_ms = (int)cli->config.store.busy_timeout_ms};
    if (!cli_migrate_store(cli, false))
        return NULL;
    if (store_open(&store, &options, &error))
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return store;
}

static bool is_for_command(enum err err)
{
    return err == ERR_NOT_FOUND || err == ERR_EXISTS || err == ERR_INVALID;
}

struct work_call {
    cli_work *work;
    void *ctx;
};

static enum err call_work(struct store *store, void *ctx)
{
    const struct work_call *call = ctx;
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    enum err err = call->work(store, &arena, call->ctx);
    arena_fini(&arena);
    return err;
}

enum err cli_read(struct cli *cli, cli_work *work, void *ctx)
{
    struct work_call call = {.work = work, .ctx = ctx};
    struct store *store = cli_open_store(cli);
    if (!store)
        return ERR_IO;
    enum err err = call_work(store, &call);
    store_close(store);
    if (err && !is_for_command(err))
        (void)cli_fail(CLI_COULD_NOT, "database error: %s", err_name(err));
    return err;
}

enum err cli_transaction(struct cli *cli, cli_work *work, void *ctx)
{
    struct work_call call = {.work = work, .ctx = ctx};
    struct store *store = cli_open_store(cli);
    if (!store)
        return ERR_IO;
    const struct transaction_scope scope = transaction_scope_plain(store);
    enum err err = transaction_run(&scope, call_work, &call);
    store_close(store);
    if (err && !is_for_command(err))
        (void)cli_fail(CLI_COULD_NOT, "nothing was changed: database error: %s", err_name(err));
    return err;
}

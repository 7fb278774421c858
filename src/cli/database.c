/* Locks, migrates and opens the configured database. */
#include "cli/database.h"

#include "cli/output.h"
#include "store/store_config.h"
#include "store/transaction_scope.h"
#include "store/upgrade.h"

#include <unistd.h>

enum { ARENA_BYTES = 4096 };

enum err cli_check_creatable(const struct cli *cli, struct error *error)
{
    const char *path = cli->config.store.path;
    const struct config_origin *origin = config_origin_of(&cli->config, "store", "path");
    if (!store_config_is_file(&cli->config))
        return OK;
    const bool is_named = origin->is_from_environment || (origin->line && !cli->is_system_config);
    if (is_named || (origin->line && *path == '/') || access(path, F_OK) == 0)
        return OK;
    return error_set(error, ERR_INVALID,
                     "%s: set [store] path (or VIEWTALLY_STORE_PATH) to %s of the database, or name a "
                     "configuration file with --config; nothing was created",
                     cli->config_path ? cli->config_path : "no configuration file",
                     origin->line ? "the absolute path" : "the path");
}

enum cli_exit cli_require_creatable(const struct cli *cli)
{
    struct error error;
    return cli_check_creatable(cli, &error) ? cli_fail(CLI_USAGE, "%s", error.text) : CLI_DONE;
}

bool cli_require_file(const struct cli *cli, const char *instead)
{
    if (store_config_is_file(&cli->config))
        return true;
    (void)cli_fail(CLI_USAGE, "this needs a database file, but the database is on a server ([store] url): %s",
                   instead);
    return false;
}

bool cli_lock_database(struct cli *cli, bool creates)
{
    struct error error = {0};
    if (cli->lock.file.fd >= 0 || !store_config_is_file(&cli->config))
        return true;
    if ((!creates || cli_check_creatable(cli, &error) == OK) &&
        database_lock_acquire_shared(&cli->lock, cli->config.store.path, creates, &error) == OK)
        return true;
    const bool is_default = !cli->config_path && !config_is_set(&cli->config, "store", "path");
    (void)cli_fail(CLI_COULD_NOT, "%s%s", error.text,
                   error.code == ERR_NOT_FOUND && is_default
                       ? ". No configuration file is used: name the file of the server with --config FILE"
                       : "");
    return false;
}

bool cli_migrate_store(struct cli *cli, bool creates)
{
    const char *path = cli->config.store.path;
    const struct upgrade_options options = {.mode = UPGRADE_AUTOMATIC, .creates = creates};
    struct upgrade_result result;
    struct error error;
    if (!store_config_is_file(&cli->config))
        return true;
    if (!cli_lock_database(cli, creates))
        return false;
    enum err err = upgrade_database(&cli->lock, path, &options, &result, &error);
    if (result.backup[0])
        cli_note("the database was copied to %s before it was migrated", result.backup);
    if (err)
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return !err;
}

bool cli_check_store(const struct cli *cli)
{
    const struct store_options options = store_options_from_config(&cli->config, STORE_READ);
    struct store *store;
    struct error error;
    if (store_open(&store, &options, &error)) {
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
        return false;
    }
    store_close(store);
    return true;
}

struct store *cli_open_store(struct cli *cli)
{
    struct store *store = NULL;
    struct error error;
    const struct store_options options = store_options_from_config(&cli->config, STORE_WRITE);
    if (!cli_migrate_store(cli, false))
        return NULL;
    if (store_open(&store, &options, &error))
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return store;
}

/* Returns true if the command prints the error itself (see cli_work). */
static bool is_for_command(enum err err)
{
    return err == ERR_NOT_FOUND || err == ERR_EXISTS || err == ERR_INVALID || err == ERR_CANCELED;
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

void cli_fail_transaction(enum err err)
{
    if (err == ERR_UNKNOWN_OUTCOME)
        (void)cli_fail(CLI_COULD_NOT,
                       "it is unknown whether the change was made, because the connection to the database "
                       "server was lost during the commit: check this before you repeat the command");
    else
        (void)cli_fail(CLI_COULD_NOT, "nothing was changed: database error: %s", err_name(err));
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
        cli_fail_transaction(err);
    return err;
}

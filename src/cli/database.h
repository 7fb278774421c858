/* Access of commands to the configured database. */
#ifndef VT_CLI_DATABASE_H
#define VT_CLI_DATABASE_H

#include "base/arena.h"
#include "cli/cli.h"
#include "store/store.h"

/* Returns true if the configured database is a file. Otherwise prints an error that ends with `instead`,
 * which says what to do instead. */
MUST_USE bool cli_require_file(const struct cli *cli, const char *instead);

/* Acquires the shared lock of the configured database (store/database_lock.h) until the process ends. Call
 * it before opening the database; the functions below call it themselves. A second call does nothing, nor
 * does any call if the database is on a server. If `creates` is false, the database must exist. Returns false
 * after printing an error. */
MUST_USE bool cli_lock_database(struct cli *cli, bool creates);

/* Checks that the user chose the directory in which a command would create the database, because it could
 * otherwise create one in any working directory: [store] path must be set, and if CLI_SYSTEM_CONFIG is used
 * by default, the path must be absolute. Returns ERR_INVALID if not. Returns OK if the database exists. */
MUST_USE enum err cli_check_creatable(const struct cli *cli, struct error *error);

/* Migrates the configured database to this binary's schema if that is quick (store/upgrade.h). If `creates`
 * is false, a missing database is an error, because the path may be mistyped or the volume not mounted. Does
 * nothing if the database is on a server, where only `viewtally migrate` creates and migrates tables. Returns
 * false after printing an error. */
MUST_USE bool cli_migrate_store(struct cli *cli, bool creates);

/* Migrates the configured database, which must exist, and opens it for writing. Returns NULL after printing
 * an error. */
struct store *cli_open_store(struct cli *cli);

/* Runs `work` in one write transaction and commits it if `work` returns OK. Returns the error of `work` or of
 * the database. The caller must print ERR_NOT_FOUND, ERR_EXISTS and ERR_INVALID; all other errors have been
 * printed. `work` returns ERR_CANCELED to roll back after it has printed the reason itself. */
typedef enum err cli_work(struct store *store, struct arena *arena, void *ctx);
MUST_USE enum err cli_transaction(struct cli *cli, cli_work *work, void *ctx);
/* Like cli_transaction(), but without a transaction, for work that only reads. cli_read() never waits for a
 * writer. */
MUST_USE enum err cli_read(struct cli *cli, cli_work *work, void *ctx);

#endif

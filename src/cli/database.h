/* Functions with which commands lock, migrate, read and change the configured database. */
#ifndef VT_CLI_DATABASE_H
#define VT_CLI_DATABASE_H

#include "base/arena.h"
#include "cli/cli.h"
#include "store/store.h"

/* Returns true if the configured database is a file. Otherwise prints an error that ends with `instead`,
 * which says what to do instead. */
MUST_USE bool cli_require_file(const struct cli *cli, const char *instead);

/* Acquires the shared lock of the configured database (store/database_lock.h) until the process ends. Call
 * it before opening the database; the functions below call it themselves. Does nothing if this process
 * already holds the lock, or if the database is on a server. If `creates` is false, the database must exist.
 * Returns false after printing an error. */
MUST_USE bool cli_lock_database(struct cli *cli, bool creates);

/* Checks that the user has chosen where a command may create the database. Otherwise a command could create a
 * database in any working directory. [store] path must be set, and it must be absolute if CLI_SYSTEM_CONFIG
 * is used by default. Returns ERR_INVALID if not. Returns OK if the database exists or is on a server. */
MUST_USE enum err cli_check_creatable(const struct cli *cli, struct error *error);

/* Like cli_check_creatable(), but prints the error and returns CLI_USAGE. A command that creates a database
 * calls it first, because the exit status for a missing setting is not that for a failure of the database. */
MUST_USE enum cli_exit cli_require_creatable(const struct cli *cli);

/* Migrates the configured database to this binary's schema if that is quick (store/upgrade.h). If `creates`
 * is false, a missing database is an error, because the path may be mistyped or the volume not mounted. Does
 * nothing if the database is on a server, where only `viewtally migrate` creates and migrates tables. Returns
 * false after printing an error. */
MUST_USE bool cli_migrate_store(struct cli *cli, bool creates);

/* Checks that the configured database can be opened for reading, for example that it is not an incomplete
 * copy (store/move.h). Returns false after printing an error. */
MUST_USE bool cli_check_store(const struct cli *cli);

/* Migrates the configured database, which must exist, and opens it for writing. Returns NULL after printing
 * an error. */
struct store *cli_open_store(struct cli *cli);

/* Runs `work` in one write transaction and commits it if `work` returns OK. Returns the error of `work` or of
 * the database. The caller must print a message for ERR_NOT_FOUND, ERR_EXISTS and ERR_INVALID; for all other
 * errors, a message has been printed. `work` returns ERR_CANCELED to roll back after it has printed the
 * reason itself, or if nothing needs to be printed. */
typedef enum err cli_work(struct store *store, struct arena *arena, void *ctx);
MUST_USE enum err cli_transaction(struct cli *cli, cli_work *work, void *ctx);
/* Prints that a write transaction has failed: nothing was changed, unless `err` is ERR_UNKNOWN_OUTCOME. */
void cli_fail_transaction(enum err err);
/* Like cli_transaction(), but without a transaction, for work that only reads. cli_read() never waits for a
 * writer. */
MUST_USE enum err cli_read(struct cli *cli, cli_work *work, void *ctx);

#endif

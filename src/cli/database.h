/* Access to the configured database for commands. */
#ifndef VT_CLI_DATABASE_H
#define VT_CLI_DATABASE_H

#include "base/arena.h"
#include "cli/cli.h"
#include "store/store.h"

/* Acquires the shared lock of the configured database (store/database_lock.h) until the process ends. Each
 * command calls it before it opens the database, directly or through a function below; a second call does
 * nothing. With `creates` the database need not exist yet. Returns false after printing the reason. */
MUST_USE bool cli_lock_database(struct cli *cli, bool creates);

/* Migrates the configured database to this binary's schema. Without `creates` a missing database is an error:
 * a mistyped path or a volume that is not mounted must not become an empty service. Returns false after
 * printing the reason. */
MUST_USE bool cli_migrate_store(struct cli *cli, bool creates);

/* Migrates and opens the existing configured database for writing. NULL after printing the reason. */
struct store *cli_open_store(struct cli *cli);

/* Runs `work` in one transaction and commits it if `work` returns OK. Returns the error of `work` or of the
 * database. ERR_NOT_FOUND, ERR_EXISTS and ERR_INVALID are for the command to explain; all others have been
 * printed. */
typedef enum err cli_work(struct store *store, struct arena *arena, void *ctx);
MUST_USE enum err cli_transaction(struct cli *cli, cli_work *work, void *ctx);
/* The same without a transaction, for work that only reads: it waits for no writer. */
MUST_USE enum err cli_read(struct cli *cli, cli_work *work, void *ctx);

#endif

/* Write transactions of the commands that delete data: author erase, video remove and book remove. */
#ifndef VT_CLI_ERASING_H
#define VT_CLI_ERASING_H

#include "cli/database.h"

/* Like cli_transaction(), but on a connection that overwrites deleted rows (store/erase.h). Prints an error
 * and fails if a refresh or an import is running, because both cache row ids. If `dry_run` is true, rolls
 * back, and runs even during a refresh. After a commit, empties the write-ahead log, because it contains
 * older versions of the changed pages. */
MUST_USE enum err cli_erasing_transaction(struct cli *cli, bool dry_run, cli_work *work, void *ctx);

#endif

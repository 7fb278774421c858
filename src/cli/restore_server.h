/* viewtally restore into a database on a server. */
#ifndef VT_CLI_RESTORE_SERVER_H
#define VT_CLI_RESTORE_SERVER_H

#include "cli/cli.h"

/* Returns CLI_DONE if restore_to_server() could begin; otherwise prints an error and returns the exit
 * status. */
MUST_USE enum cli_exit restore_check_server(const struct cli *cli, bool force);

/* Replaces the data of the configured database, which is on a server, with the data of the backup `file`.
 * `shown` is the name of the backup in messages. With `force`, skips the checks that no process uses the
 * database and that its present data can be copied. Always fails while an import is running. */
MUST_USE enum cli_exit restore_to_server(struct cli *cli, const char *file, const char *shown, bool is_json,
                                         bool force);

#endif

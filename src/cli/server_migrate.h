/* viewtally migrate for a database on a server ([store] url). */
#ifndef VT_CLI_SERVER_MIGRATE_H
#define VT_CLI_SERVER_MIGRATE_H

#include "cli/cli.h"

/* Prints what is pending. The exit status is that of `viewtally migrate --check`. */
enum cli_exit server_migrate_check(const struct cli *cli, bool is_json);

/* Creates or migrates the tables, and finalizes an import that was killed. */
enum cli_exit server_migrate(const struct cli *cli, bool is_json);

#endif

/* The subcommands of `viewtally platform`, each in a file of its own. */
#ifndef VT_CLI_CMD_PLATFORM_H
#define VT_CLI_CMD_PLATFORM_H

#include "cli/cli.h"
#include "store/platform_credentials.h"

enum cli_exit platform_connect(struct cli *cli, const struct cli_arguments *arguments);
enum cli_exit platform_test(struct cli *cli, const struct cli_arguments *arguments);
enum cli_exit platform_probe(struct cli *cli, const struct cli_arguments *arguments);
enum cli_exit platform_status(struct cli *cli, const struct cli_arguments *arguments);

/* Parses the number of an account, its row id. Returns false after printing an error. */
MUST_USE bool platform_parse_id(const char *text, int64_t *row);

#endif

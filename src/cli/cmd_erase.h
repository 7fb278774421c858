/* The subcommand `viewtally author erase`. */
#ifndef VT_CLI_CMD_ERASE_H
#define VT_CLI_CMD_ERASE_H

#include "cli/arguments.h"

enum cli_exit author_erase(struct cli *cli, const struct cli_arguments *arguments);

#endif

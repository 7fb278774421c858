/* The subcommand `viewtally author export`. */
#ifndef VT_CLI_CMD_AUTHOR_EXPORT_H
#define VT_CLI_CMD_AUTHOR_EXPORT_H

#include "cli/arguments.h"

enum cli_exit author_export(struct cli *cli, const struct cli_arguments *arguments);

#endif

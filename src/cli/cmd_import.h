/* The import of one file, shared by `viewtally import` and `viewtally demo`. */
#ifndef VT_CLI_CMD_IMPORT_H
#define VT_CLI_CMD_IMPORT_H

#include "cli/cli.h"

/* Imports one file into the existing database and prints the summary. */
enum cli_exit cli_import_file(struct cli *cli, const char *path);

#endif

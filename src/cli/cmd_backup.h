/* Subcommands of `viewtally backup` that work on existing backups (cmd_backup_files.c). */
#ifndef VT_CLI_CMD_BACKUP_H
#define VT_CLI_CMD_BACKUP_H

#include "cli/cli.h"

enum cli_exit backup_list_files(struct cli *cli, const struct cli_arguments *arguments);
enum cli_exit backup_verify_files(struct cli *cli, const struct cli_arguments *arguments);
enum cli_exit backup_prune_files(struct cli *cli, const struct cli_arguments *arguments);

extern const struct cli_option backup_list_options[], backup_prune_options[];

/* Returns true if [backup] directory is set. Otherwise prints an error and returns false. */
bool cli_has_backup_directory(const struct cli *cli);

#endif

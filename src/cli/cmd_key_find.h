/* The subcommands of `viewtally key` whose operand is the key itself, or a text with keys, instead of an
 * id. */
#ifndef VT_CLI_CMD_KEY_FIND_H
#define VT_CLI_CMD_KEY_FIND_H

#include "cli/cli.h"

enum cli_exit key_find(struct cli *cli, const struct cli_arguments *arguments);
/* `viewtally key revoke --leaked`: revokes all complete keys in the operand or in standard input. */
enum cli_exit key_revoke_leaked(struct cli *cli, const struct cli_arguments *arguments);

#endif

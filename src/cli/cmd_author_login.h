/* The subcommands of `viewtally author` that create invitations or concern sign-in. */
#ifndef VT_CLI_CMD_AUTHOR_LOGIN_H
#define VT_CLI_CMD_AUTHOR_LOGIN_H

#include "base/uuid.h"
#include "cli/cli.h"

enum cli_exit author_invite(struct cli *cli, const struct cli_arguments *arguments);
enum cli_exit author_import(struct cli *cli, const struct cli_arguments *arguments);
enum cli_exit author_set_login(struct cli *cli, const struct cli_arguments *arguments);
enum cli_exit author_sign_out(struct cli *cli, const struct cli_arguments *arguments);

#endif

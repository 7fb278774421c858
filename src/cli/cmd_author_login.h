/* What `viewtally author` does about signing in: the one-time link, and the name. */
#ifndef VT_CLI_CMD_AUTHOR_LOGIN_H
#define VT_CLI_CMD_AUTHOR_LOGIN_H

#include "cli/cli.h"

enum cli_exit author_invite(struct cli *cli, int argc, char **argv);
/* A new invitation of the author, its link on a line of standard output. */
enum cli_exit author_print_link(struct cli *cli, const struct uuid *author_id);

enum cli_exit author_set_login(struct cli *cli, int argc, char **argv);
enum cli_exit author_sign_out(struct cli *cli, int argc, char **argv);

#endif

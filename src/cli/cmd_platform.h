/* viewtally platform: what its files share. */
#ifndef VT_CLI_CMD_PLATFORM_H
#define VT_CLI_CMD_PLATFORM_H

#include "cli/cli.h"
#include "store/platform_credentials.h"

enum cli_exit platform_connect(struct cli *cli, int argc, char **argv);
enum cli_exit platform_test(struct cli *cli, int argc, char **argv);
enum cli_exit platform_probe(struct cli *cli, int argc, char **argv);
enum cli_exit platform_status(struct cli *cli, int argc, char **argv);

/* One account as an object of JSON. `author` NULL: left out. */
void platform_append_json(struct buf *b, const struct credential *c, const struct uuid *author);

/* The number of an account; false: said so. */
bool platform_parse_id(const char *command, const char *text, int64_t *row);

#endif

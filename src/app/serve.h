/* The command `viewtally serve`. It is not in src/cli, because it depends on all other directories. */
#ifndef VT_APP_SERVE_H
#define VT_APP_SERVE_H

#include "cli/cli.h"

extern const struct cli_command serve_command;

#endif

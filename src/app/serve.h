/* The command that runs the server. It stands above cli/, because the server is made of all the rest. */
#ifndef VT_APP_SERVE_H
#define VT_APP_SERVE_H

#include "cli/cli.h"

extern const struct cli_command serve_command;

#endif

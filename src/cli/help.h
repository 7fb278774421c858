/* The command table as text: `--help` for a terminal, and Markdown for docs/cli.md. */
#ifndef VT_CLI_HELP_H
#define VT_CLI_HELP_H

#include "base/buf.h"
#include "cli/cli.h"

void cli_print_overview(const struct cli_command *const *commands, size_t count);

/* With `action` NULL: all actions of the command. */
void cli_print_help(const struct cli_command *command, const struct cli_action *action);

/* ---- for the reference ---- */

extern const char cli_exit_statuses[]; /* what each exit status means, in one sentence */

/* Appends "viewtally key create --author UUID --name NAME [--json]". */
enum { CLI_USAGE_MAX = 1024 };
void cli_append_usage(struct buf *b, const struct cli_command *command, const struct cli_action *action);

void cli_write_commands(FILE *to, const struct cli_command *const *commands, size_t count);

#endif

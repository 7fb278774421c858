/* Prints the command table: as `--help` for a terminal, and as Markdown for docs/cli.md. */
#ifndef VT_CLI_HELP_H
#define VT_CLI_HELP_H

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/help_topics.h"

/* Prints the list of all commands. */
void cli_print_overview(const struct cli_command *const *commands, size_t count);

/* Prints the name and the summary of each topic. */
void cli_print_topics(void);

/* Prints the text of a topic. */
void cli_print_topic(const struct help_topic *topic);

/* Prints the help of one action, or if `action` is NULL, of all actions of the command. */
void cli_print_help(const struct cli_command *command, const struct cli_action *action);

/* ---- for docs/cli.md ---- */

extern const char cli_exit_statuses[]; /* the meaning of each exit status, one sentence with its period */

/* The maximum size in bytes of a usage line. */
enum { CLI_USAGE_MAX = 1024 };
/* Appends the usage line, such as "viewtally key create --author UUID --name NAME [--json]". */
void cli_append_usage(struct buf *b, const struct cli_command *command, const struct cli_action *action);

/* Writes all commands as Markdown. The caller checks `to` for errors. */
void cli_write_commands(FILE *to, const struct cli_command *const *commands, size_t count);

/* ---- for the shell completions ---- */

/* Writes all commands, and `help`, as JSON: an array of {name, summary, actions: [{name, summary, operands,
 * options: [{name, argument, help, repeatable}]}]}. A member is null if the command lacks it. Returns false
 * if writing fails. */
MUST_USE bool cli_write_command_list(FILE *to, const struct cli_command *const *commands, size_t count);

#endif

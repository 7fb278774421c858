/* Parses the options and operands of one action (a row of the command table, cli.h). */
#ifndef VT_CLI_ARGUMENTS_H
#define VT_CLI_ARGUMENTS_H

#include "base/uuid.h"
#include "cli/cli.h"

enum { CLI_OPTIONS_MAX = 8, CLI_REPEATS_MAX = 20 };

struct cli_arguments {
    const struct cli_action *action;
    const char *values[CLI_OPTIONS_MAX];   /* values of the options in the order of action->options; "" for a
                                              flag; NULL if not given */
    const char *repeated[CLI_REPEATS_MAX]; /* values of the repeatable option */
    int repeated_count;
    char **operands;
    int operand_count;
};

/* Parses argv[1] to argv[argc - 1]. Options may follow operands. Returns false after printing the error. */
MUST_USE bool cli_parse(const struct cli_action *action, int argc, char **argv, struct cli_arguments *out);

/* Returns the value of an option, or NULL if it was not given. The action must have an option `name`. */
const char *cli_value(const struct cli_arguments *arguments, const char *name);
/* Returns true if the flag `name` was given. The action must have a flag `name`. */
bool cli_flag(const struct cli_arguments *arguments, const char *name);

/* Parses `text` as a UUID. Returns false after printing an error. `what` names the operand or option in the
 * error, for example "--author". */
MUST_USE bool cli_parse_uuid(const char *what, const char *text, struct uuid *out);

/* Writes a suggestion such as ` (did you mean --author?)` to `out`, to be appended to an error message. If no
 * word is similar, writes "". `dashes` ("--" or "") is written before the word. Returns `out`. */
struct nearest_word;
const char *cli_suggestion(const struct nearest_word *nearest, const char *dashes, char out[128]);

#endif

/* Parses the options and operands of one action by its table row. */
#ifndef VT_CLI_ARGUMENTS_H
#define VT_CLI_ARGUMENTS_H

#include "base/uuid.h"
#include "cli/cli.h"

enum { CLI_OPTIONS_MAX = 8, CLI_REPEATS_MAX = 20 };

struct cli_arguments {
    const struct cli_action *action;
    const char *values[CLI_OPTIONS_MAX]; /* in the order of action->options; "" for a flag; NULL: not given */
    const char *repeated[CLI_REPEATS_MAX]; /* values of the repeatable option */
    int repeated_count;
    char **operands;
    int operand_count;
};

/* Parses argv[1] and on; options may follow operands. Returns false after printing what is wrong. */
MUST_USE bool cli_parse(const struct cli_action *action, int argc, char **argv, struct cli_arguments *out);

/* The value of an option, NULL if it was not given. The action must have an option of that name. */
const char *cli_value(const struct cli_arguments *arguments, const char *name);
bool cli_flag(const struct cli_arguments *arguments, const char *name);

/* Parses an operand or option value as a UUID; returns false after printing that `what` ("--author") is
 * wrong. */
MUST_USE bool cli_parse_uuid(const char *what, const char *text, struct uuid *out);

/* For messages: ` (did you mean "create"?)`, or "" without a near word. `*out` holds the text. */
struct nearest_word;
const char *cli_suggestion(const struct nearest_word *nearest, const char *dashes, char out[128]);

#endif

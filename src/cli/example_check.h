/* Checks that the examples of the command table are valid commands, so that no example is out of date. */
#ifndef VT_CLI_EXAMPLE_CHECK_H
#define VT_CLI_EXAMPLE_CHECK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct cli_command;

/* Splits a shell command line into commands and words: quotes are removed, and `$(…)` is one word. Parses
 * each viewtally command by the command table, without running anything. Returns false after printing an
 * error. */
MUST_USE bool example_check_line(const char *line, const struct cli_command *const *commands, size_t count);

/* Checks the examples of all actions. Every action must have an example. Returns false after printing
 * errors. */
MUST_USE bool example_check_all(const struct cli_command *const *commands, size_t count);

#endif

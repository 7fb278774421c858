/* The command table: what each command is called, which options and operands it takes, and what it does. The
 * parser, `--help` and the reference in docs/cli.md all read it. */
#ifndef VT_CLI_CLI_H
#define VT_CLI_CLI_H

#include "config/config.h"
#include "store/database_lock.h"

#include <stdio.h>

/* Exit statuses are an interface for scripts: never change the meaning of one. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_PART = 1,      /* partly done, or the input was bad */
    CLI_USAGE = 2,     /* wrong usage or configuration */
    CLI_COULD_NOT = 3, /* database or network failure */
};

struct cli {
    struct config config;
    const char *config_path;   /* NULL: no file was given and ./config.ini does not exist */
    struct database_lock lock; /* held until the process ends; see cli_lock_database() */
};

struct cli_option {
    const char *name;     /* without the dashes; NULL ends the list */
    const char *argument; /* placeholder such as "UUID"; NULL: a flag */
    const char *help;
    bool is_required;
    bool is_repeatable; /* at most one option of an action; see cli_arguments.repeated */
};

struct cli_arguments;

/* Texts are plain sentences; the printer wraps them. Paragraphs are separated by an empty line; a paragraph
 * whose first byte is a space is printed as it is. */
struct cli_action {
    const char *name;     /* NULL: the command has no subcommands */
    const char *operands; /* for the usage line, such as "FILE…"; NULL: none */
    int operands_min, operands_max;
    const struct cli_option *options; /* NULL: none */
    const char *summary;              /* one line; NULL: the command's */
    const char *description;          /* NULL: the summary is enough */
    const char *partial;              /* when the exit status is 1; NULL: never */
    const char *examples;             /* command lines, one a line; NULL: none */
    enum cli_exit (*run)(struct cli *cli, const struct cli_arguments *arguments);
};

struct cli_command {
    const char *name;
    const char *summary;              /* one line */
    const char *description;          /* NULL, or a preface to the descriptions of the actions */
    const struct cli_action *actions; /* ended by a NULL `run` */
};

extern const struct cli_command cli_app, cli_author, cli_backup, cli_check_config, cli_demo, cli_import,
    cli_key, cli_migrate, cli_platform, cli_refresh, cli_restore, cli_secrets, cli_status, cli_healthcheck;

/* main(): finds the command, parses its arguments, loads the configuration and runs it. `serve` is passed in
 * because the server is above this layer. */
int cli_main(int argc, char **argv, const struct cli_command *serve);

/* Writes the reference of all commands in Markdown (docs/cli.md). False: the file cannot be written. */
MUST_USE bool cli_write_reference(FILE *to, const struct cli_command *serve);

#endif

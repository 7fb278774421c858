/* The command table: names, options, operands and functions of all commands. The parser, `--help` and the
 * reference docs/cli.md are based on it. */
#ifndef VT_CLI_CLI_H
#define VT_CLI_CLI_H

#include "config/config.h"
#include "store/database_lock.h"

#include <stdio.h>

/* Exit statuses are an interface for scripts: never change the meaning of one. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_PART = 1,      /* a part failed, or the input was bad */
    CLI_USAGE = 2,     /* wrong usage or configuration */
    CLI_COULD_NOT = 3, /* failure of the database, a file, the network or standard output */
};

/* The configuration file that is used if the user names no file and ./config.ini does not exist. */
#define CLI_SYSTEM_CONFIG "/etc/viewtally/config.ini"

struct cli {
    struct config config;
    const char *config_path; /* path of the configuration file; NULL if no file was given and no default file
                                exists */
    struct buf mistakes;     /* errors in the configuration; see cli_action.accepts_mistakes; usually empty */
    bool is_system_config;   /* config_path is CLI_SYSTEM_CONFIG, because no file was named */
    struct database_lock lock; /* lock that is held until the process ends; see cli_lock_database() */
};

struct cli_option {
    const char *name;     /* name of the option without the dashes; NULL marks the end of the list */
    const char *argument; /* placeholder such as "UUID"; NULL for a flag */
    const char *help;
    bool is_required;
    bool is_repeatable; /* the option may be given several times; at most one option of an action
                           (cli_arguments.repeated) */
};

struct cli_arguments;

/* The subcommand of a command, or the command itself if it has no subcommands. Texts are plain sentences,
 * which are wrapped when printed. An empty line separates paragraphs. A paragraph that begins with a space is
 * printed unchanged. */
struct cli_action {
    const char *name;     /* NULL if the command has no subcommands, and for the action that runs if the first
                             operand is not the name of a subcommand; this action must be the last */
    const char *operands; /* for the usage line, such as "FILE…"; may be NULL */
    int operands_min, operands_max;
    const struct cli_option *options; /* may be NULL */
    const char *summary;              /* one line; NULL if the command's summary applies */
    const char *description;          /* may be NULL */
    const char *partial;              /* help text that says when the exit status is 1; NULL if it never is */
    const char *examples;             /* one command per line; may be NULL */
    bool accepts_mistakes; /* the action runs even if the configuration is invalid; in this case cli->mistakes
                              is not empty, and all configuration values are defaults */
    enum cli_exit (*run)(struct cli *cli, const struct cli_arguments *arguments);
};

struct cli_command {
    const char *name;
    const char *summary;              /* one line */
    const char *description;          /* printed before the descriptions of the actions; may be NULL */
    const struct cli_action *actions; /* an action with a NULL `run` ends the array */
};

extern const struct cli_command cli_app, cli_audit, cli_author, cli_backup, cli_book, cli_check_config,
    cli_demo, cli_events, cli_import, cli_key, cli_migrate, cli_move, cli_platform, cli_reading, cli_refresh,
    cli_reload, cli_restore, cli_secrets, cli_status, cli_video, cli_healthcheck, cli_webhook;
extern const struct cli_command cli_doctor; /* in src/doctor */

/* The body of main(): finds the command, parses its arguments, loads the configuration and runs the command.
 * Returns the exit status. `serve` is a parameter because src/cli must not depend on the server. */
int cli_main(int argc, char **argv, const struct cli_command *serve);

/* Writes the reference of all commands in Markdown (docs/cli.md). Returns false if writing fails. */
MUST_USE bool cli_write_reference(FILE *to, const struct cli_command *serve);

/* Checks the examples of all commands (cli/example_check.h). Returns false after printing errors. */
MUST_USE bool cli_check_examples(const struct cli_command *serve);
/* Writes all commands as JSON (cli_write_command_list() in help.h). Returns false if writing fails. */
MUST_USE bool cli_write_list(FILE *to, const struct cli_command *serve);

#endif

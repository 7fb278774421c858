/* Finds the command and its action, loads the configuration, and runs the action. */
#include "cli/cli.h"

#include "base/build_info.h"
#include "base/clock.h"
#include "base/nearest_word.h"
#include "base/stop_signals.h"
#include "cli/arguments.h"
#include "cli/example_check.h"
#include "cli/help.h"
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;
extern const char third_party_notices[]; /* generated from THIRD-PARTY-NOTICES */

/* commands[0] is `serve`, which the public functions of this file receive as a parameter. */
enum { COMMAND_COUNT = 24 };
static const struct cli_command *commands[COMMAND_COUNT] = {
    NULL,         &cli_check_config, &cli_migrate, &cli_import, &cli_refresh,     &cli_status,
    &cli_demo,    &cli_author,       &cli_key,     &cli_events, &cli_app,         &cli_platform,
    &cli_secrets, &cli_backup,       &cli_restore, &cli_move,   &cli_healthcheck, &cli_reload,
    &cli_doctor,  &cli_audit,        &cli_webhook, &cli_video,  &cli_book,        &cli_reading,
};

static void print_version(void)
{
    printf("viewtally %s (%s, %s)\n", build_version, build_commit, build_mode);
    for (int i = 0; i < build_library_count; i++)
        printf("%s %s\n", build_libraries[i].name, build_libraries[i].version);
}

/* Occupies the descriptors 0 to 2 that are closed, as in `viewtally … >&-`. Otherwise the next file that is
 * opened, such as the lock file of the database, would get such a descriptor, and the output would be written
 * to this file. The opened descriptors cannot be read or written, respectively, so that the use of a closed
 * stream is an error. */
static bool occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) /* open() returns the lowest free descriptor */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return false;
    return true;
}

/* ---- finding the command ---- */

/* Removes `--config FILE` and `--config=FILE` from argv, anywhere before "--". Returns false if the value is
 * missing. */
static bool take_config(int *argc, char **argv, const char **path)
{
    int rest = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            while (i < *argc)
                argv[rest++] = argv[i++];
            break;
        }
        if (strcmp(argv[i], "--config") == 0) {
            if (++i == *argc)
                return false;
            *path = argv[i];
        } else if (strncmp(argv[i], "--config=", 9) == 0) {
            *path = argv[i] + 9;
        } else {
            argv[rest++] = argv[i];
        }
    }
    *argc = rest;
    argv[rest] = NULL;
    return true;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static const struct cli_command *find_command(const char *name)
{
    struct nearest_word nearest = nearest_word_of(str_from_cstr(name));
    char suggestion[128];
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        nearest_word_compare(&nearest, commands[i]->name);
    }
    (void)cli_fail(CLI_USAGE, "unknown command \"%s\"%s; see viewtally --help", name,
                   cli_suggestion(&nearest, "", suggestion));
    return NULL;
}

/* Returns the action `name` of the command. An action without a name is selected if `name` is an operand that
 * is not the name of another action. Returns NULL without a message if no action matches, because `--help`
 * describes the whole command in this case. */
static const struct cli_action *look_up_action(const struct cli_command *command, const char *name)
{
    const struct cli_action *unnamed = NULL;
    const bool is_operand = name && (name[0] != '-' || !name[1]);
    for (const struct cli_action *a = command->actions; a->run; a++)
        if (!a->name)
            unnamed = a;
        else if (name && strcmp(a->name, name) == 0)
            return a;
    return is_operand || unnamed == command->actions ? unnamed : NULL;
}

static const struct cli_action *find_action(const struct cli_command *command, const char *name)
{
    const struct cli_action *action = look_up_action(command, name);
    if (action)
        return action;
    struct nearest_word nearest = nearest_word_of(str_from_cstr(name));
    char suggestion[128];
    for (const struct cli_action *a = command->actions; a->run; a++)
        if (a->name)
            nearest_word_compare(&nearest, a->name);
    if (name)
        (void)cli_fail(CLI_USAGE, "unknown subcommand \"%s\"%s; see viewtally %s --help", name,
                       cli_suggestion(&nearest, "", suggestion), command->name);
    else
        (void)cli_fail(CLI_USAGE, "a subcommand is missing; see viewtally %s --help", command->name);
    return NULL;
}

/* ---- running the command ---- */

static const char *system_config(void)
{
#ifdef VT_TEST_SEAMS
    const char *path = getenv("VIEWTALLY_TEST_SYSTEM_CONFIG");
    if (path)
        return path;
#endif
    return CLI_SYSTEM_CONFIG;
}

/* Returns NULL if no default file exists. If the system-wide file cannot be accessed for another reason, for
 * example because the user may not search its directory, returns it, so that loading it reports the reason.
 * Without it, a command would work with another configuration than the server. */
static const char *default_config(void)
{
    if (access("config.ini", F_OK) == 0)
        return "config.ini";
    const bool is_missing = access(system_config(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
    return is_missing ? NULL : system_config();
}

/* Returns false if the configuration is invalid. cli->mistakes then has one line for each mistake. */
static bool load_config(struct cli *cli)
{
    const char *from_environment = getenv("VIEWTALLY_CONFIG");
    if (!cli->config_path && from_environment && *from_environment)
        cli->config_path = from_environment;
    if (!cli->config_path) {
        cli->config_path = default_config();
        cli->is_system_config = cli->config_path && strcmp(cli->config_path, "config.ini") != 0;
    }
    if (config_load(&cli->config, cli->config_path, (const char *const *)environ, &cli->mistakes))
        return false;
    log_set(cli->config.log.level, cli->config.log.format);
    return true;
}

static bool init_process(void)
{
    /* `serve` and `refresh` replace the handler with their own. */
    stop_signals_end_process_1();
#ifdef VT_TEST_SEAMS
    if (!clock_use_test_file())
        return false;
#endif
    /* With SIGXFSZ ignored, a file at the size limit fails like a full disk instead of killing the process.
     */
    (void)signal(SIGXFSZ, SIG_IGN);
    return sodium_init() >= 0;
}

static enum cli_exit run_action(const struct cli_action *action, const char *config_path,
                                const struct cli_arguments *arguments)
{
    struct cli cli = {.config_path = config_path, .lock.file.fd = -1};
    enum cli_exit code = CLI_USAGE;
    config_init(&cli.config);
    buf_init(&cli.mistakes, 1 << 20);
    if (!init_process())
        code = cli_fail(CLI_COULD_NOT, "the random source or the test clock cannot be opened");
    else if (load_config(&cli) || action->accepts_mistakes)
        code = action->run(&cli, arguments);
    else
        (void)fprintf(stderr, "%.*s\n", (int)cli.mistakes.len, cli.mistakes.p);
    buf_fini(&cli.mistakes);
    database_lock_release(&cli.lock);
    config_fini(&cli.config);
    return code;
}

/* Parses the arguments of a command and runs it. `argv[0]` is the command's name. */
static enum cli_exit parse_and_run(const struct cli_command *command, const char *config_path, int argc,
                                   char **argv)
{
    char prefix[64];
    struct cli_arguments arguments;
    cli_set_message_prefix(command->name);
    const struct cli_action *action = find_action(command, argc > 1 ? argv[1] : NULL);
    if (!action)
        return CLI_USAGE;
    (void)snprintf(prefix, sizeof prefix, "%s%s%s", command->name, action->name ? " " : "",
                   action->name ? action->name : "");
    cli_set_message_prefix(prefix);
    const int skipped = action->name != NULL;
    enum cli_exit code = CLI_USAGE;
    if (cli_parse(action, argc - skipped, argv + skipped, &arguments))
        code = run_action(action, config_path, &arguments);
    cli_set_message_prefix(NULL); /* `prefix` goes out of scope */
    return code;
}

static enum cli_exit print_overview(enum cli_exit code)
{
    cli_print_overview(commands, COMMAND_COUNT);
    return code;
}

static enum cli_exit print_help(const struct cli_command *command, const char *action)
{
    cli_print_help(command, look_up_action(command, action));
    return CLI_DONE;
}

/* Runs `viewtally help [topics | TOPIC | COMMAND [SUBCOMMAND]]`. */
static enum cli_exit help(const char *name, const char *action)
{
    struct nearest_word nearest = nearest_word_of(str_from_cstr(name));
    char suggestion[128];
    if (!name)
        return print_overview(CLI_DONE);
    if (strcmp(name, HELP_TOPICS_NAME) == 0) {
        cli_print_topics();
        return CLI_DONE;
    }
    nearest_word_compare(&nearest, HELP_TOPICS_NAME);
    for (const struct help_topic *t = help_topics; t->name; t++) {
        if (strcmp(t->name, name) == 0) {
            cli_print_topic(t);
            return CLI_DONE;
        }
        nearest_word_compare(&nearest, t->name);
    }
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return print_help(commands[i], action);
        nearest_word_compare(&nearest, commands[i]->name);
    }
    return cli_fail(CLI_USAGE, "no command or topic \"%s\"%s; see viewtally help", name,
                    cli_suggestion(&nearest, "", suggestion));
}

static enum cli_exit find_and_run(int argc, char **argv, bool *prints)
{
    const char *config_path = NULL;
    if (!take_config(&argc, argv, &config_path))
        return cli_fail(CLI_USAGE, "--config requires the path of a file");
    if (argc < 2)
        return print_overview(CLI_USAGE);
    if (strcmp(argv[1], "--version") == 0) {
        print_version();
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--licenses") == 0) {
        (void)fputs(third_party_notices, stdout);
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print_overview(CLI_DONE);
    if (strcmp(argv[1], "help") == 0)
        return help(argv[2], argc > 3 ? argv[3] : NULL);
    const struct cli_command *command = find_command(argv[1]);
    if (!command)
        return CLI_USAGE;
    if (wants_help(argc - 1, argv + 1))
        return print_help(command, argv[2]);
    *prints = command != commands[0];
    return parse_and_run(command, config_path, argc - 1, argv + 1);
}

int cli_main(int argc, char **argv, const struct cli_command *serve)
{
    bool prints = true; /* the server's exit status does not depend on its standard output */
    commands[0] = serve;
    if (!occupy_standard_streams())
        return (int)cli_fail(CLI_COULD_NOT, "/dev/null cannot be opened: %s", strerror(errno));
    enum cli_exit code = find_and_run(argc, argv, &prints);
    return (int)(prints && code == CLI_DONE ? cli_flush() : code);
}

bool cli_write_reference(FILE *to, const struct cli_command *serve)
{
    commands[0] = serve;
    cli_write_commands(to, commands, COMMAND_COUNT);
    return fflush(to) == 0 && !ferror(to);
}

bool cli_write_list(FILE *to, const struct cli_command *serve)
{
    commands[0] = serve;
    return cli_write_command_list(to, commands, COMMAND_COUNT) && fflush(to) == 0;
}

bool cli_check_examples(const struct cli_command *serve)
{
    commands[0] = serve;
    return example_check_all(commands, COMMAND_COUNT);
}

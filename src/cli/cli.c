/* Finds the command and loads the configuration for it. What commands share is in common.c. */
#include "base/build_info.h"
#include "base/clock.h"
#include "cli/cli.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;
extern const char third_party_notices[]; /* generated from THIRD-PARTY-NOTICES */

/* The server's is put in front by cli_main(). */
enum { COMMAND_COUNT = 15 };
static const struct cli_command *commands[COMMAND_COUNT] = {
    NULL,          &cli_check_config, &cli_migrate, &cli_import,  &cli_refresh,
    &cli_status,   &cli_demo,         &cli_author,  &cli_key,     &cli_app,
    &cli_platform, &cli_secrets,      &cli_backup,  &cli_restore, &cli_healthcheck,
};

/* ---- help ---- */

static void print_version(void)
{
    printf("viewtally %s (%s, %s)\n", build_version, build_commit, build_mode);
    for (int i = 0; i < build_library_count; i++)
        printf("%s %s\n", build_libraries[i].name, build_libraries[i].version);
}

static void print_usage(void)
{
    printf("viewtally tells authors how the videos of their books do.\n\n"
           "Usage: viewtally COMMAND [--config FILE] …\n\n"
           "Commands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
    printf("\nviewtally COMMAND --help tells more about one; --version and --licenses describe the build.\n"
           "The configuration is FILE, else $VIEWTALLY_CONFIG, else ./config.ini, else the defaults;\n"
           "VIEWTALLY_<SECTION>_<KEY> in the environment overrides a key.\n\n"
           "Exit status: 0 done, 1 done in part or found bad input, 2 wrong usage or configuration,\n"
           "3 could not (database, network).\n");
}

/* ---- finding the command ---- */

/* Takes `--config FILE` or `--config=FILE` out of argv, wherever it stands before "--". False: without a
 * value. */
static bool take_config(int *argc, char **argv, const char **path)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            while (i < *argc)
                argv[kept++] = argv[i++];
            break;
        }
        if (strcmp(argv[i], "--config") == 0) {
            if (++i == *argc)
                return false;
            *path = argv[i];
        } else if (strncmp(argv[i], "--config=", 9) == 0) {
            *path = argv[i] + 9;
        } else {
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    argv[kept] = NULL;
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
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* ---- running it ---- */

static bool load_config(struct cli *cli)
{
    struct buf message;
    const char *from_environment = getenv("VIEWTALLY_CONFIG");
    if (!cli->config_path && from_environment && *from_environment)
        cli->config_path = from_environment;
    if (!cli->config_path && access("config.ini", F_OK) == 0)
        cli->config_path = "config.ini";
    buf_init(&message, 1 << 20);
    bool ok = config_load(&cli->config, cli->config_path, (const char *const *)environ, &message) == OK;
    if (ok)
        log_set(cli->config.log.level, cli->config.log.format);
    else
        (void)fprintf(stderr, "%.*s\n", (int)message.len, message.p);
    buf_fini(&message);
    return ok;
}

static bool init_process(void)
{
#ifdef VT_TEST_SEAMS
    if (!clock_use_test_file())
        return false;
#endif
    /* A file at the limit of file sizes is then like a full disk: an error of the write, not the end. */
    (void)signal(SIGXFSZ, SIG_IGN);
    return sodium_init() >= 0;
}

static int run_command(const struct cli_command *command, const char *config_path, int argc, char **argv)
{
    struct cli cli = {.config_path = config_path, .lock.file.fd = -1};
    enum cli_exit code = CLI_USAGE;
    config_init(&cli.config);
    if (!init_process())
        code = cli_fail(CLI_COULD_NOT, "the random source or the test clock cannot be opened");
    else if (load_config(&cli))
        code = command->run(&cli, argc, argv);
    database_lock_release(&cli.lock);
    config_fini(&cli.config);
    return (int)code;
}

static int find_and_run(int argc, char **argv, bool *prints)
{
    const char *config_path = NULL;
    if (!take_config(&argc, argv, &config_path))
        return cli_fail(CLI_USAGE, "--config wants the path of a file");
    if (argc < 2) {
        print_usage();
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        print_version();
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--licenses") == 0) {
        (void)fputs(third_party_notices, stdout);
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage();
        return CLI_DONE;
    }
    const struct cli_command *command = find_command(argv[1]);
    if (!command)
        return cli_fail(CLI_USAGE, "there is no command \"%s\" (see viewtally --help)", argv[1]);
    if (wants_help(argc - 1, argv + 1)) {
        printf("Usage: viewtally %s %s\n\n%s\n", command->name, command->synopsis, command->help);
        return CLI_DONE;
    }
    *prints = command != commands[0];
    return run_command(command, config_path, argc - 1, argv + 1);
}

/* What a command prints is what it was called for, other than of the server. */
int cli_main(int argc, char **argv, const struct cli_command *serve)
{
    bool prints = true;
    commands[0] = serve;
    int code = find_and_run(argc, argv, &prints);
    if (prints && code == CLI_DONE && (fflush(stdout) != 0 || ferror(stdout)))
        return cli_fail(CLI_COULD_NOT, "the output cannot be written");
    return code;
}

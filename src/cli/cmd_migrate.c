/* viewtally migrate: brings the database to this binary's schema, and an import that was killed to its end.
 */
#include "cli/cli.h"
#include "import/finalizing.h"

#include <stdio.h>

static enum cli_exit complete_import(const struct cli *cli)
{
    const struct step_rules rules = step_rules_of(&cli->config);
    const struct store_options options = {.path = cli->config.store.path,
                                          .mode = STORE_WRITE,
                                          .busy_timeout_ms = (int)cli->config.store.busy_timeout_ms};
    struct closing_result done;
    struct error error;
    if (closing_complete(&options, &rules, &done, &error))
        return cli_fail(CLI_COULD_NOT, "%s: %s", options.path, error.text);
    if (done.videos)
        printf("%s: decided %lld videos that an unfinished import had left\n", options.path,
               (long long)done.videos);
    return CLI_DONE;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    int count, applied;
    struct error error;
    if (!cli_parse(argc, argv, NULL, 0, 0, &count))
        return CLI_USAGE;
    if (!cli_lock_database(cli, true))
        return CLI_COULD_NOT;
    if (store_create(cli->config.store.path, &applied, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (applied)
        printf("%s: %d migration%s applied\n", cli->config.store.path, applied, applied == 1 ? "" : "s");
    else
        printf("%s: up to date\n", cli->config.store.path);
    return complete_import(cli);
}

const struct cli_command cli_migrate = {
    .name = "migrate",
    .synopsis = "",
    .summary = "create the database or bring it up to date",
    .help = "Creates the database if it does not exist and applies the migrations that are not yet applied. "
            "`demo`,\n"
            "`serve --create` and `import --create` do the same. All other commands apply migrations to an "
            "existing\n"
            "database only: if the database is missing they fail, because its volume may not be mounted.\n"
            "A database of a newer version is refused and left as it is.",
    .run = run,
};

/* viewtally migrate: migrates the database to this binary's schema and finalizes an import that was killed.
 */
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "import/finalizing.h"

#include <stdio.h>

static enum cli_exit finalize_import(const struct cli *cli)
{
    const struct step_rules rules = step_rules_configured(&cli->config);
    const struct store_options options = {.path = cli->config.store.path,
                                          .mode = STORE_WRITE,
                                          .busy_timeout_ms = (int)cli->config.store.busy_timeout_ms};
    struct finalizing_result done;
    struct error error;
    if (finalizing_complete(&options, &rules, &done, &error))
        return cli_fail(CLI_COULD_NOT, "%s: %s", options.path, error.text);
    if (done.videos)
        printf("%s: finalized %lld videos of an interrupted import\n", options.path, (long long)done.videos);
    return CLI_DONE;
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    int applied;
    struct error error;
    (void)arguments;
    if (!cli_lock_database(cli, true))
        return CLI_COULD_NOT;
    if (store_create(cli->config.store.path, &applied, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (applied)
        printf("%s: %d migration%s applied\n", cli->config.store.path, applied, applied == 1 ? "" : "s");
    else
        printf("%s: up to date\n", cli->config.store.path);
    return finalize_import(cli);
}

static const struct cli_action actions[] = {
    {.description =
         "Creates the database if it does not exist and applies all migrations that it lacks. `demo`, "
         "`serve --create` and `import --create` also do this. All other commands migrate only an "
         "existing database. If it is missing, they fail, because its volume may not be mounted. "
         "A database of a newer version is rejected and left unchanged.",
     .run = run},
    {0},
};

const struct cli_command cli_migrate = {
    .name = "migrate",
    .summary = "create the database or migrate it to this version",
    .actions = actions,
};

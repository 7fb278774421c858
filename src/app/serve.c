/* viewtally serve: the server. */
#include "app/serve.h"

#include "app/app.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "store/store.h"

static enum err create_database(const char *path, struct error *error)
{
    int applied;
    enum err e = store_create(path, &applied, error);
    if (e == OK && applied)
        log_info("%s: %d migration%s applied", path, applied, applied == 1 ? "" : "s");
    return e;
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool creates = cli_flag(arguments, "create");
    struct error error;
    const char *path = cli->config.store.path;
    enum err e = database_lock_share(&cli->lock, path, creates, &error);
    if (e == OK && creates)
        e = create_database(path, &error);
    if (e == OK)
        e = app_run(&cli->config, cli->config_path, &error);
    if (e == ERR_INVALID)
        return cli_fail(CLI_USAGE, "%s", error.text);
    return e ? cli_fail(CLI_COULD_NOT, "%s", error.text) : CLI_DONE;
}

static const struct cli_option serve_options[] = {
    {.name = "create",
     .help = "Create the database if it does not exist; by default a missing database is an error, because "
             "its volume may not be mounted."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = serve_options,
     .description =
         "Serves the API on [server] listen. Prints a line `listening on ADDRESS` to standard output for "
         "each listener "
         "when it accepts connections, and logs to standard error. Migrates the "
         "database first. Other commands may run at the same time.\n\n"
         "SIGTERM or SIGINT: completes the requests in flight within [server] drain_ms and exits; a "
         "second signal exits at once. SIGHUP: reopens [log] access and reloads the keys that "
         "config.example.ini marks.",
     .run = run},
    {0},
};

const struct cli_command serve_command = {
    .name = "serve",
    .summary = "run the server",
    .actions = actions,
};

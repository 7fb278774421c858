/* viewtally serve: runs the server. */
#include "app/serve.h"

#include "app/app.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "store/store.h"

static enum err serve(struct cli *cli, bool create, struct error *error)
{
    const char *path = cli->config.store.path;
    enum err err = database_lock_share(&cli->lock, path, create, error);
    if (err)
        return err;
    if (create) {
        int applied;
        err = store_create(path, &applied, error);
        if (err)
            return err;
        if (applied)
            log_info("%s: %d migration%s applied", path, applied, applied == 1 ? "" : "s");
    }
    return app_run(&cli->config, cli->config_path, error);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    struct error error;
    const enum err err = serve(cli, cli_flag(arguments, "create"), &error);
    if (!err)
        return CLI_DONE;
    return cli_fail(err == ERR_INVALID ? CLI_USAGE : CLI_COULD_NOT, "%s", error.text);
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
         "each listener when it accepts connections, and logs to standard error. Migrates the database "
         "first. Other commands may run at the same time.\n\n"
         "SIGTERM or SIGINT: completes the requests in flight within [server] drain_ms and exits; a second "
         "signal exits at once. SIGHUP: reopens [log] access and reloads the keys that config.example.ini "
         "marks.",
     .run = run},
    {0},
};

const struct cli_command serve_command = {
    .name = "serve",
    .summary = "run the server",
    .actions = actions,
};

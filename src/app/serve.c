/* viewtally serve: the server. */
#include "app/serve.h"

#include "app/app.h"
#include "base/log.h"

static enum err create_database(const char *path, struct error *error)
{
    int applied;
    enum err e = store_create(path, &applied, error);
    if (e == OK && applied)
        log_info("%s: %d migration%s applied", path, applied, applied == 1 ? "" : "s");
    return e;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    int count;
    bool creates = false;
    struct error error;
    const struct cli_option options[] = {{"create", NULL, &creates}, {0}};
    if (!cli_parse(argc, argv, options, 0, 0, &count))
        return CLI_USAGE;
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

const struct cli_command serve_command = {
    .name = "serve",
    .synopsis = "[--create]",
    .summary = "run the server",
    .help =
        "Serves the API on [server] listen until SIGTERM or SIGINT, then finishes the requests in flight "
        "within\n"
        "[server] drain_ms; a second signal stops at once. Prints one line `listening on ADDRESS` per "
        "listener on\n"
        "standard output when it accepts connections, and logs to standard error.\n"
        "SIGHUP opens [log] access anew and takes over what config.example.ini marks so.\n"
        "The database is brought up to date first. Other commands may be used while it runs.\n\n"
        "  --create   create the database if it does not exist; otherwise a missing database is an error, "
        "because\n"
        "             its volume may not be mounted",
    .run = run,
};

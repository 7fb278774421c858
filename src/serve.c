/* viewtally serve: the server. */
#include "serve.h"

#include "app.h"

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    int count;
    const char *why = "";
    if (!cli_parse(argc, argv, NULL, 0, 0, &count))
        return CLI_USAGE;
    enum err e = app_run(&cli->config, cli->config_path, &why);
    if (e == ERR_INVALID)
        return cli_fail(CLI_USAGE, "%s", why);
    return e ? cli_fail(CLI_COULD_NOT, "%s", why) : CLI_DONE;
}

const struct cli_command serve_command = {
    .name = "serve",
    .synopsis = "",
    .summary = "run the server",
    .help = "Serves the API on [server] listen until SIGTERM or SIGINT, then finishes the requests in flight "
            "within\n"
            "[server] drain_ms; a second signal stops at once. Prints one line `listening on ADDRESS` per "
            "listener on\n"
            "standard output when it accepts connections, and logs to standard error.\n"
            "SIGHUP opens [log] access anew and takes over what config.example.ini marks so.\n"
            "The database is created or brought up to date first. Other commands may be used while it runs.",
    .run = run,
};

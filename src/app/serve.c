/* viewtally serve: runs the server. */
#include "app/serve.h"

#include "app/app.h"
#include "base/log.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "store/store_config.h"
#include "store/upgrade.h"

#include <signal.h>

static void log_event(void *ctx, const struct upgrade_event *event)
{
    char text[UPGRADE_TEXT_MAX];
    (void)ctx;
    if (event->stage == UPGRADE_WAITING)
        log_info("waiting for another process that migrates the database");
    else if (event->stage == UPGRADE_BACKED_UP)
        log_info("backup before the migration: %s (verified, %s)", event->backup,
                 upgrade_format_ms(event->elapsed_ms, text));
    else if (event->stage == UPGRADE_APPLIED)
        log_info("migration %d %s: %s", event->migration->version, event->migration->name,
                 upgrade_format_ms(event->elapsed_ms, text));
}

static enum err serve(struct cli *cli, bool create, struct notifier *notifier, struct error *error)
{
    const char *path = cli->config.store.path;
    if (!store_config_is_file(&cli->config))
        return create
                   ? error_set(
                         error, ERR_INVALID,
                         "--create creates a database file, but the database is on a server ([store] url): "
                         "create its tables with viewtally migrate")
                   : app_run(&cli->config, cli->config_path, notifier, error);
    enum err err = create ? cli_check_creatable(cli, error) : OK;
    if (err)
        return err;
    err = database_lock_acquire_shared(&cli->lock, path, create, error);
    if (err)
        return err;
    const struct upgrade_options options = {
        .mode = UPGRADE_AUTOMATIC, .creates = create, .observer = log_event};
    struct upgrade_result result;
    err = upgrade_database(&cli->lock, path, &options, &result, error);
    if (result.applied)
        log_info("%s: %d migration%s applied", path, result.applied, plural(result.applied, "", "s"));
    return err ? err : app_run(&cli->config, cli->config_path, notifier, error);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    struct error error;
    struct notifier notifier;
    /* A SIGHUP before reload_sighup_start() must not end the process. Log rotation sends it at any time, and
     * a start takes long if the database is migrated. */
    (void)signal(SIGHUP, SIG_IGN);
    notifier_open(&notifier);
    notifier_begin_start(&notifier);
    const enum err err = serve(cli, cli_flag(arguments, "create"), &notifier, &error);
    notifier_end_start(&notifier);
    notifier_close(&notifier);
    if (!err)
        return CLI_DONE;
    return cli_fail(err == ERR_INVALID ? CLI_USAGE : CLI_COULD_NOT, "%s", error.text);
}

static const struct cli_option serve_options[] = {
    {.name = "create",
     .help = "Create the database if it does not exist; by default a missing database is an error, because "
             "its volume might not be mounted."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = serve_options,
     .description =
         "Serves the API on [server] listen. Prints a line `listening on ADDRESS` to standard output for "
         "each listener when it accepts connections, and logs to standard error. Applies short "
         "migrations to a database file first. If they would take more than ten seconds, or if a PostgreSQL "
         "database needs migrations, it exits, and you must run `viewtally migrate` first. Other commands "
         "may run at the same time.\n\n"
         "SIGTERM or SIGINT: completes the requests in flight within [server] drain_ms and exits; a second "
         "signal aborts these requests. If tokens of platform accounts are being refreshed, waits until they "
         "are stored. SIGHUP: reopens [log] access and reloads the keys that config.example.ini marks.",
     .examples = "viewtally serve --config /etc/viewtally/config.ini",
     .run = run},
    {0},
};

const struct cli_command serve_command = {
    .name = "serve",
    .summary = "run the server",
    .actions = actions,
};

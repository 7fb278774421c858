/* viewtally refresh: one run of the refresh, now and in this process. What a run is, is refresh/refresh.c's.
 */
#include "refresh/refresh.h"
#include "fetch/sources.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "vault/token_vault.h"
#include "rules/rule_settings.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

enum { WAIT_S = 30, WAIT_MAX_S = 3600, LOOK_AGAIN_MS = 200 };

/* A signal's handler can have no other context. */
static atomic_bool stop;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&stop, true);
}

/* The first asks the run to end after its transaction, the second ends the process. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* --- what it did -----------------------------------------------------------------------------------------
 */

static void print_source(const struct refresh_counts *counts, enum source_kind kind)
{
    for (int p = 0; p < REFRESH_PLATFORMS; p++) {
        const int64_t *n = counts->n[kind][p];
        const struct str platform = p < PLATFORM_COUNT ? platform_name((enum platform)p) : STR("");
        for (int c = 0; c < RUN_COUNTERS; c++)
            if (n[c])
                printf("%-10s %-10.*s %-22s %lld\n", source_name(kind), (int)platform.len, platform.p,
                       run_counter_name((enum run_counter)c), (long long)n[c]);
    }
}

static enum cli_exit print_report(const struct refresh_report *report)
{
    printf("refresh: %s in %lld ms\n", run_state_name(report->outcome), (long long)report->duration_ms);
    for (int kind = 0; kind < SOURCE_KINDS; kind++)
        print_source(&report->counts, (enum source_kind)kind);
    if (fflush(stdout) != 0)
        return cli_fail(CLI_COULD_NOT, "the output cannot be written");
    switch (report->outcome) {
    case RUN_SUCCEEDED: return CLI_DONE;
    case RUN_PARTIAL: return CLI_PART;
    case RUN_STOPPED: return cli_fail(CLI_PART, "stopped before the end; the next refresh goes on from here");
    case RUN_ABANDONED: return cli_fail(CLI_COULD_NOT, "another process has taken the refresh over");
    case RUN_FAILED: break;
    }
    return cli_fail(CLI_COULD_NOT, "%s", report->why);
}

/* --- running it ------------------------------------------------------------------------------------------
 */

/* Another process may be at it: that one is waited for, then this one runs. */
static enum err run_when_free(const struct refresh_options *options, struct refresh_report *report,
                              int64_t wait_ms)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * 1000000L};
    const int64_t until_us = clock_work_us() + wait_ms * 1000;
    bool said = false;
    enum err err = refresh_run(options, report);
    while (err == ERR_BUSY && clock_work_us() < until_us && !atomic_load(&stop)) {
        if (!said)
            (void)fprintf(stderr, "viewtally: %s: waiting up to %lld s\n", report->why,
                          (long long)(wait_ms / SECOND_MS));
        said = true;
        (void)nanosleep(&pause, NULL);
        err = refresh_run(options, report);
    }
    return err;
}

static bool read_wait(const char *text, int64_t *wait_ms)
{
    unsigned long long seconds = WAIT_S;
    if (text && !str_to_u64(str_from_cstr(text), WAIT_MAX_S, &seconds))
        return false;
    *wait_ms = (int64_t)seconds * SECOND_MS;
    return true;
}

static enum cli_exit check_secrets(const struct config *config)
{
    struct store *store;
    struct error error;
    char message[1024];
    const struct store_options reads = {.path = config->store.path, .mode = STORE_READ};
    if (store_open(&store, &reads, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    enum err err = secrets_check(config, store, message, sizeof message);
    store_close(store);
    return err ? cli_fail(CLI_USAGE, "%s", message) : CLI_DONE;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    int count;
    const char *wait = NULL;
    int64_t wait_ms;
    struct refresh_report report;
    const struct cli_option list[] = {{"wait", &wait, NULL}, {0}};
    if (!cli_parse(argc, argv, list, 0, 0, &count))
        return CLI_USAGE;
    if (!read_wait(wait, &wait_ms))
        return cli_fail(CLI_USAGE, "--wait wants seconds, 0 to %d", WAIT_MAX_S);
    const struct refresh_options options = {.rules = step_rules_of(&cli->config),
                                            .config = &cli->config,
                                            .sources = sources_configured(&cli->config),
                                            .cause = CAUSE_COMMAND,
                                            .stop = &stop};
    if (!options.sources.sources[0])
        return cli_fail(CLI_USAGE, "[refresh] source is none: there is nothing to refresh from");
    if (!cli_migrate_store(cli, false))
        return CLI_COULD_NOT;
    enum cli_exit code = check_secrets(&cli->config);
    if (code)
        return code;
    catch_signals();
    if (run_when_free(&options, &report, wait_ms))
        return cli_fail(CLI_COULD_NOT, "%s", report.why);
    return print_report(&report);
}

const struct cli_command cli_refresh = {
    .name = "refresh",
    .synopsis = "[--wait SECONDS]",
    .summary = "refresh the views now, as the server does every hour",
    .help = "Asks the sources of [refresh] source once, applies what they bring, and says what came of it. "
            "The server "
            "may run\nmeanwhile. If another process is refreshing, that one is waited for, 30 seconds if "
            "--wait says "
            "nothing else; then the\nexit status is 3. It is 1 when readings or lines were refused. A first "
            "Ctrl-C ends "
            "it after the transaction that is open.",
    .run = run,
};

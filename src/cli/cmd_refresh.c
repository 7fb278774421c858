/* viewtally refresh: one refresh run in this process. */
#include "refresh/refresh.h"
#include "fetch/sources.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/stop_signals.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "cli/table.h"
#include "net/ping.h"
#include "vault/token_vault.h"
#include "rules/rule_settings.h"
#include "store/store_config.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

enum { WAIT_S = 30, WAIT_MAX_S = 3600, POLL_MS = 200 };

/* A global, because a signal handler has no other context. */
static atomic_bool stop;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&stop, true);
    stop_signals_end_process_1();
}

/* Makes the first signal stop the run after its open transaction. If the same signal arrives again, it ends
 * the process: SA_RESETHAND has restored the default action. If this process has the process id 1, for which
 * the kernel ignores the default action, on_signal() has set a handler that exits. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* ---- printing the report ---- */

/* Calls add() for each counter that is not zero. */
static void list_counts(const struct refresh_counts *counts, struct table *t,
                        void (*add)(struct table *t, enum source_kind kind, struct str platform,
                                    enum run_counter counter, int64_t value))
{
    for (int kind = 0; kind < SOURCE_KINDS; kind++)
        for (int p = 0; p < REFRESH_PLATFORMS; p++)
            for (int c = 0; c < RUN_COUNTERS; c++)
                if (counts->n[kind][p][c])
                    add(t, (enum source_kind)kind,
                        p < PLATFORM_COUNT ? platform_name((enum platform)p) : (struct str){NULL, 0},
                        (enum run_counter)c, counts->n[kind][p][c]);
}

static void add_count(struct table *t, enum source_kind kind, struct str platform, enum run_counter counter,
                      int64_t value)
{
    table_add_text(t, str_from_cstr(source_name(kind)));
    table_add_text(t, platform.p ? platform : STR("-"));
    table_add_text(t, str_from_cstr(run_counter_name(counter)));
    table_add_i64(t, value);
}

static void append_count(struct table *t, enum source_kind kind, struct str platform,
                         enum run_counter counter, int64_t value)
{
    struct buf *b = &t->json;
    json_open(b, '{');
    JSON_STR(b, "source", str_from_cstr(source_name(kind)));
    JSON_STR(b, "platform", platform);
    JSON_STR(b, "name", str_from_cstr(run_counter_name(counter)));
    JSON_I64(b, "value", value);
    json_close(b, '}');
}

/* Prints the result and the counters, with --json as one object. */
static enum cli_exit print_counts(const struct refresh_report *report, bool is_json)
{
    static const char *const headings[] = {"SOURCE", "PLATFORM", "COUNTER", "#VALUE", NULL};
    struct table t;
    table_init(&t, headings, is_json);
    list_counts(&report->counts, &t, is_json ? append_count : add_count);
    if (!is_json) {
        printf("refresh: %s in %lld ms\n", run_state_name(report->state), (long long)report->duration_ms);
        return table_print(&t);
    }
    printf("{\"state\":\"%s\",\"duration_ms\":%lld,\"counts\":%.*s]}\n", run_state_name(report->state),
           (long long)report->duration_ms, (int)t.json.len, t.json.p);
    table_fini(&t);
    return cli_flush();
}

static enum cli_exit print_report(const struct refresh_report *report, bool is_json)
{
    if (print_counts(report, is_json))
        return CLI_COULD_NOT;
    switch (report->state) {
    case RUN_SUCCEEDED: return CLI_DONE;
    case RUN_PARTIAL: return CLI_PART;
    case RUN_STOPPED: return cli_fail(CLI_PART, "the run was stopped; the next run continues where it ended");
    case RUN_ABANDONED:
        return cli_fail(CLI_COULD_NOT, "another process has taken over the lease of the refresh");
    case RUN_FAILED: break;
    }
    return cli_fail(CLI_COULD_NOT, "%s", report->why);
}

/* ---- running the refresh ---- */

/* Makes a run. If another process is refreshing, first waits at most `wait_ms` for the other run to end. */
static enum err run_when_free(const struct refresh_options *options, struct refresh_report *report,
                              int64_t wait_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    const int64_t until_us = clock_work_us() + wait_ms * 1000;
    bool is_noted = false;
    enum err err = refresh_run(options, report);
    while (err == ERR_BUSY && clock_work_us() < until_us && !atomic_load(&stop)) {
        if (!is_noted)
            cli_note("%s: waiting up to %lld s", report->why, (long long)(wait_ms / SECOND_MS));
        is_noted = true;
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
    const struct store_options reads = store_options_from_config(config, STORE_READ);
    if (store_open(&store, &reads, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    enum err err = vault_check_key_file(config, store, &error);
    store_close(store);
    if (!err)
        return CLI_DONE;
    const bool is_key_file = err == ERR_NOT_FOUND || err == ERR_INVALID || err == ERR_CORRUPT;
    return cli_fail(is_key_file ? CLI_USAGE : CLI_COULD_NOT, "%s", error.text);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    int64_t wait_ms;
    struct refresh_report report;
    if (!read_wait(cli_value(arguments, "wait"), &wait_ms))
        return cli_fail(CLI_USAGE, "--wait must be 0 to %d seconds", WAIT_MAX_S);
    const struct refresh_options options = {.rules = step_rules_from_config(&cli->config),
                                            .config = &cli->config,
                                            .sources = sources_from_config(&cli->config),
                                            .cause = CAUSE_COMMAND,
                                            .stop = &stop};
    if (!options.sources.sources[0])
        return cli_fail(
            CLI_USAGE,
            "nothing to refresh: [refresh] source is \"none\"; set it to simulated, spool or platforms");
    if (!cli_migrate_store(cli, false))
        return CLI_COULD_NOT;
    enum cli_exit code = check_secrets(&cli->config);
    if (code)
        return code;
    catch_signals();
    if (run_when_free(&options, &report, wait_ms))
        return cli_fail(CLI_COULD_NOT, "%s", report.why);
    const enum cli_exit printed = print_report(&report, cli_flag(arguments, "json"));
    const bool is_complete = report.state == RUN_SUCCEEDED || report.state == RUN_PARTIAL;
    if (is_complete && !ping_send_blocking("refresh", cli->config.refresh.ping_url) && !printed)
        return cli_fail(CLI_PART, "the request to [refresh] ping_url failed (see the log line above)");
    return printed;
}

static const struct cli_option refresh_options[] = {
    {.name = "wait",
     .argument = "SECONDS",
     .help = "How long to wait for another process's refresh to end, 0 to 3600; by default 30."},
    {.name = "json", .help = "Print the result and all counters as JSON."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = refresh_options,
     .description = "Reads the sources of [refresh] source once, applies the readings and prints a summary. "
                    "You need not stop the server. The first Ctrl-C stops the run after its open "
                    "transaction. Exit status 3: the refresh failed, or another process was still refreshing "
                    "when the waiting time had passed.",
     .partial = "readings or lines were rejected, the run was stopped, or the request to [refresh] ping_url "
                "failed",
     .examples = "viewtally refresh\n"
                 "viewtally refresh --wait 0",
     .run = run},
    {0},
};

const struct cli_command cli_refresh = {
    .name = "refresh",
    .summary = "refresh the views now, as the server does every hour",
    .actions = actions,
};

/* viewtally platform status: the state of each platform API, read from the database. */
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/cmd_platform.h"
#include "cli/database.h"
#include "cli/output.h"
#include "vault/platform_health.h"
#include "refresh/run.h"
#include "store/platform_credentials.h"
#include "store/runs.h"

#include <stdlib.h>

enum { RUNS_SEARCHED = 48, TEXT_MAX = 1 << 18, ERRORS_SHOWN = 5 };

/* An error that accounts of an API have now, such as "operator 401.3", and the number of these accounts. */
struct account_error {
    struct str error;
    int64_t accounts;
};

struct account_errors {
    struct arena *arena;
    struct account_error list[ERRORS_SHOWN];
    size_t count;
};

struct platforms_status {
    const struct config *config;
    int64_t now;
    struct platform_health apis[PLATFORM_APIS];
    struct arena errors_arena;
    struct account_errors errors[PLATFORM_APIS];
    int64_t runs[RUNS_SEARCHED], run_started_at[RUNS_SEARCHED];
    int run_count;
    int64_t last_run_at; /* the newest run that called platforms; TIME_NONE if none exists */
    int64_t counts[PLATFORM_COUNT][RUN_COUNTERS];
};

/* ---- reading the state ---- */

static bool on_run(void *ctx, const struct run_row *run)
{
    struct platforms_status *s = ctx;
    s->runs[s->run_count] = run->row;
    s->run_started_at[s->run_count++] = run->started_at;
    return s->run_count < RUNS_SEARCHED;
}

static bool on_count(void *ctx, const struct run_count *count)
{
    struct platforms_status *s = ctx;
    if (count->source != SOURCE_PLATFORMS)
        return true;
    s->last_run_at = 0;
    for (int c = 0; c < RUN_COUNTERS && count->platform >= 0 && count->platform < PLATFORM_COUNT; c++)
        if (str_eq(count->name, str_from_cstr(run_counter_name((enum run_counter)c))))
            s->counts[count->platform][c] = count->value;
    return true;
}

static bool on_error(void *ctx, struct str error, int64_t accounts)
{
    struct account_errors *e = ctx;
    e->list[e->count++] = (struct account_error){arena_copy(e->arena, error), accounts};
    return e->count < ERRORS_SHOWN;
}

static enum err gather(struct store *store, struct arena *arena, void *ctx)
{
    struct platforms_status *s = ctx;
    enum err err = OK;
    (void)arena;
    for (int api = 0; api < PLATFORM_APIS && !err; api++)
        err = platform_health_read(store, s->config, (enum platform_api)api, s->now, &s->apis[api]);
    for (int api = 0; api < PLATFORM_APIS && !err; api++) {
        s->errors[api].arena = &s->errors_arena;
        err = store_list_credential_errors(store, api, ERRORS_SHOWN, on_error, &s->errors[api]);
    }
    if (!err)
        err = store_list_runs(store, RUNS_SEARCHED, on_run, s);
    for (int i = 0; i < s->run_count && !err && s->last_run_at == TIME_NONE; i++) {
        err = store_list_run_counts(store, s->runs[i], on_count, s);
        if (s->last_run_at != TIME_NONE)
            s->last_run_at = s->run_started_at[i];
    }
    return err;
}

/* ---- JSON output ---- */

static void json_api(struct buf *b, const struct platform_health *p, const struct account_errors *errors)
{
    json_open(b, '{');
    JSON_STR(b, "api", str_from_cstr(platform_desc(p->api)->name));
    JSON_STR(b, "platform", platform_name(platform_desc(p->api)->platform));
    JSON_BOOL(b, "configured", p->configured);
    JSON_I64(b, "accounts_connected", p->accounts[CREDENTIAL_CONNECTED]);
    JSON_I64(b, "accounts_reconnect_required", p->accounts[CREDENTIAL_RECONNECT_REQUIRED]);
    JSON_TIME_OR_NULL(b, "last_success_at", p->last_success_at != TIME_NONE, p->last_success_at);
    JSON_I64_OR_NULL(b, "quota", p->units_per_day > 0, p->units_per_day);
    JSON_I64_OR_NULL(b, "quota_left", p->units_per_day > 0, p->units_left);
    JSON_I64_OR_NULL(b, "fallback_quota_left", p->fallback_units_left >= 0, p->fallback_units_left);
    JSON_TIME_OR_NULL(b, "quota_until", p->units_until != TIME_NONE, p->units_until);
    JSON_TIME_OR_NULL(b, "circuit_open_until", p->circuit_open_until != TIME_NONE, p->circuit_open_until);
    JSON_TIME_OR_NULL(b, "paused_until", p->paused_until != TIME_NONE, p->paused_until);
    JSON_KEY(b, "combined_metrics");
    if (p->combined == COMBINED_UNKNOWN)
        json_null(b);
    else
        json_bool(b, p->combined == COMBINED_WORKS);
    JSON_TIME_OR_NULL(b, "combined_metrics_until", p->combined_until != TIME_NONE, p->combined_until);
    JSON_BOOL(b, "backlog", p->has_backlog);
    JSON_KEY(b, "account_errors");
    json_open(b, '[');
    for (size_t i = 0; i < errors->count; i++) {
        json_open(b, '{');
        JSON_STR(b, "error", errors->list[i].error);
        JSON_I64(b, "accounts", errors->list[i].accounts);
        json_close(b, '}');
    }
    json_close(b, ']');
    json_close(b, '}');
}

static void json_run(struct buf *b, const struct platforms_status *s, enum platform platform)
{
    json_open(b, '{');
    JSON_STR(b, "platform", platform_name(platform));
    for (int c = 0; c < RUN_COUNTERS; c++)
        if (s->counts[platform][c]) {
            json_key(b, str_from_cstr(run_counter_name((enum run_counter)c)));
            json_i64(b, s->counts[platform][c]);
        }
    json_close(b, '}');
}

static void print_json(struct buf *b, const struct platforms_status *s)
{
    json_open(b, '{');
    JSON_TIME(b, "now", s->now);
    JSON_KEY(b, "apis");
    json_open(b, '[');
    for (int api = 0; api < PLATFORM_APIS; api++)
        json_api(b, &s->apis[api], &s->errors[api]);
    json_close(b, ']');
    JSON_TIME_OR_NULL(b, "last_run_at", s->last_run_at != TIME_NONE, s->last_run_at);
    JSON_KEY(b, "last_run");
    json_open(b, '[');
    for (int p = 0; p < PLATFORM_COUNT && s->last_run_at != TIME_NONE; p++)
        json_run(b, s, (enum platform)p);
    json_close(b, ']');
    json_close(b, '}');
    buf_append_char(b, '\n');
}

/* ---- text output ---- */

static void append_until(struct buf *b, const char *what, int64_t until)
{
    if (until == TIME_NONE)
        return;
    buf_printf(b, "; %s ", what);
    cli_append_time(b, until);
}

static void text_api(struct buf *b, const struct platform_health *p)
{
    const int64_t connected = p->accounts[CREDENTIAL_CONNECTED],
                  reconnect = p->accounts[CREDENTIAL_RECONNECT_REQUIRED];
    buf_printf(b, "%-18s  ", platform_desc(p->api)->name);
    if (!p->configured && !connected && !reconnect) {
        buf_append(b, STR("not configured\n"));
        return;
    }
    buf_printf(b, "%lld account%s connected", (long long)connected, plural(connected, "", "s"));
    if (reconnect)
        buf_printf(b, ", %lld reconnect required", (long long)reconnect);
    if (!p->configured)
        buf_append(b, STR("; not read: no app or no key file is configured"));
    if (p->last_success_at == TIME_NONE)
        buf_append(b, STR("; no successful call yet"));
    append_until(b, "last successful call", p->last_success_at);
    if (p->units_per_day)
        buf_printf(b, "; quota %lld of %lld left", (long long)p->units_left, (long long)p->units_per_day);
    if (p->fallback_units_left >= 0)
        buf_printf(b, ", fallback %lld", (long long)p->fallback_units_left);
    if (p->combined == COMBINED_WORKS)
        append_until(b, "period and lifetime metrics in one request until", p->combined_until);
    if (p->combined == COMBINED_FAILS)
        append_until(b, "period and lifetime metrics in separate requests until", p->combined_until);
    append_until(b, "FAILING: circuit open until", p->circuit_open_until);
    append_until(b, "paused by the platform until", p->paused_until);
    if (p->has_backlog)
        buf_append(b, STR("; BACKLOG: older posts are read less often"));
    buf_append_char(b, '\n');
}

static void text_errors(struct buf *b, const struct account_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        buf_printf(b, "                    %lld account%s: ", (long long)errors->list[i].accounts,
                   plural(errors->list[i].accounts, "", "s"));
        cli_append_text(b, errors->list[i].error);
        buf_append_char(b, '\n');
    }
}

static void text_counter(struct buf *b, const struct platforms_status *s, int platform, int counter,
                         const char *what)
{
    if (s->counts[platform][counter])
        buf_printf(b, ", %lld %s", (long long)s->counts[platform][counter], what);
}

static void text_run(struct buf *b, const struct platforms_status *s, int platform)
{
    const int64_t *n = s->counts[platform];
    const struct str name = platform_name((enum platform)platform);
    buf_printf(b, "%-18.*s  %lld call%s", (int)name.len, name.p, (long long)n[RUN_CALLS],
               plural(n[RUN_CALLS], "", "s"));
    for (int v = 0; v < OUTCOME_KINDS; v++)
        text_counter(b, s, platform, RUN_OUTCOME + v, outcome_kind_name((enum outcome_kind)v));
    text_counter(b, s, platform, RUN_TOKENS, plural(n[RUN_TOKENS], "token refreshed", "tokens refreshed"));
    buf_printf(b, "; %lld post%s read", (long long)n[RUN_READ], plural(n[RUN_READ], "", "s"));
    text_counter(b, s, platform, RUN_NO_DATA, "without numbers yet");
    text_counter(b, s, platform, RUN_MISSING, "missing");
    text_counter(b, s, platform, RUN_PERMANENT, "never with numbers");
    text_counter(b, s, platform, RUN_UNREAD, "unread");
    text_counter(b, s, platform, RUN_NOT_DUE, "not due");
    buf_append_char(b, '\n');
}

static void print_text(struct buf *b, const struct platforms_status *s)
{
    for (int api = 0; api < PLATFORM_APIS; api++) {
        text_api(b, &s->apis[api]);
        text_errors(b, &s->errors[api]);
    }
    buf_append(b, STR("\nlast run            "));
    if (s->last_run_at == TIME_NONE)
        buf_append(b, STR("none of the recent runs called the platforms"));
    else
        cli_append_time(b, s->last_run_at);
    buf_append_char(b, '\n');
    for (int p = 0; p < PLATFORM_COUNT && s->last_run_at != TIME_NONE; p++)
        text_run(b, s, p);
}

enum cli_exit platform_status(struct cli *cli, const struct cli_arguments *arguments)
{
    struct buf out;
    struct platforms_status *s = xcalloc(1, sizeof *s);
    s->config = &cli->config;
    s->now = clock_wall_ms();
    s->last_run_at = TIME_NONE;
    arena_init(&s->errors_arena, 1024);
    enum cli_exit code = cli_read(cli, gather, s) ? CLI_COULD_NOT : CLI_DONE;
    if (code == CLI_DONE) {
        buf_init(&out, TEXT_MAX);
        (cli_flag(arguments, "json") ? print_json : print_text)(&out, s);
        code = cli_print(&out);
    }
    arena_fini(&s->errors_arena);
    free(s);
    return code;
}

/* Metrics of the platforms. Calls and posts are counted by platform, in the runs of this process. The state
 * of each API is read from the database, which all processes share. */
#include "admin/platform_metrics.h"

#include "base/metrics.h"

/* ---- counters of this process ---- */

static int64_t counter_of(const struct schedule_state *s, int platform, int counter)
{
    return s->counts.n[SOURCE_PLATFORMS][platform][counter];
}

static void write_by_platform(const struct schedule_state *s, struct buf *b, const char *name,
                              const char *help, int counter)
{
    metrics_write_family(b, name, METRICS_COUNTER, help);
    for (int p = 0; p < PLATFORM_COUNT; p++)
        metrics_write_value(b, name, METRICS_LABELS({"platform", platform_name((enum platform)p)}),
                            counter_of(s, p, counter));
}

static void write_outcomes(const struct schedule_state *s, struct buf *b)
{
    metrics_write_family(b, "viewtally_platform_call_outcomes_total", METRICS_COUNTER,
                         "Calls to platforms by runs of this process, by platform and outcome.");
    for (int p = 0; p < PLATFORM_COUNT; p++)
        for (int v = 0; v < OUTCOME_KINDS; v++)
            metrics_write_value(
                b, "viewtally_platform_call_outcomes_total",
                METRICS_LABELS({"platform", platform_name((enum platform)p)},
                               {"outcome", str_from_cstr(outcome_kind_name((enum outcome_kind)v))}),
                counter_of(s, p, RUN_OUTCOME + v));
}

static void write_posts(const struct schedule_state *s, struct buf *b)
{
    metrics_write_family(b, "viewtally_platform_posts_total", METRICS_COUNTER,
                         "Posts due in runs of this process, by platform and result.");
    for (int p = 0; p < PLATFORM_COUNT; p++)
        for (int c = RUN_READ; c <= RUN_NOT_DUE; c++)
            metrics_write_value(
                b, "viewtally_platform_posts_total",
                METRICS_LABELS({"platform", platform_name((enum platform)p)},
                               {"result", str_from_cstr(run_counter_name((enum run_counter)c))}),
                counter_of(s, p, c));
}

/* ---- state in the database ---- */

static struct str api_name(int api)
{
    return str_from_cstr(platform_desc((enum platform_api)api)->name);
}

static void write_accounts(const struct platform_health *states, struct buf *b)
{
    static const char *const names[CREDENTIAL_STATES] = {"connected", "reconnect_required"};
    metrics_write_family(
        b, "viewtally_platform_accounts", METRICS_GAUGE,
        "Linked accounts, by API and state: connected, or reconnect_required if the author has to "
        "sign in again.");
    for (int api = 0; api < PLATFORM_APIS; api++)
        for (int state = 0; state < CREDENTIAL_STATES; state++)
            metrics_write_value(
                b, "viewtally_platform_accounts",
                METRICS_LABELS({"api", api_name(api)}, {"state", str_from_cstr(names[state])}),
                states[api].accounts[state]);
}

static void write_quotas(const struct platform_health *states, struct buf *b)
{
    metrics_write_family(b, "viewtally_platform_quota_remaining", METRICS_GAUGE,
                         "Units left of today's quota, for APIs with a daily quota.");
    for (int api = 0; api < PLATFORM_APIS; api++)
        if (states[api].units_per_day)
            metrics_write_value(b, "viewtally_platform_quota_remaining",
                                METRICS_LABELS({"api", api_name(api)}), states[api].units_left);
}

static void write_time_by_api(const struct platform_health *states, struct buf *b)
{
    metrics_write_family(b, "viewtally_platform_last_success_timestamp_seconds", METRICS_GAUGE,
                         "Unix time of the last successful call to the API; 0 if there was none.");
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const int64_t at = states[api].last_success_at;
        metrics_write_seconds(b, "viewtally_platform_last_success_timestamp_seconds",
                              METRICS_LABELS({"api", api_name(api)}), at == TIME_NONE ? 0 : at * 1000);
    }
}

static void write_flags(const struct platform_health *states, struct buf *b)
{
    metrics_write_family(
        b, "viewtally_platform_circuit_open", METRICS_GAUGE,
        "1 if calls to the API are suspended, because too many failed or the API asked to wait.");
    for (int api = 0; api < PLATFORM_APIS; api++)
        metrics_write_value(b, "viewtally_platform_circuit_open", METRICS_LABELS({"api", api_name(api)}),
                            states[api].circuit_open_until != TIME_NONE ||
                                states[api].paused_until != TIME_NONE);
    metrics_write_family(
        b, "viewtally_platform_backlogged", METRICS_GAUGE,
        "1 if quota or time does not suffice to read every post each hour, so that older posts are "
        "read less often.");
    for (int api = 0; api < PLATFORM_APIS; api++)
        metrics_write_value(b, "viewtally_platform_backlogged", METRICS_LABELS({"api", api_name(api)}),
                            states[api].has_backlog);
}

/* Writes the state of each API. Omits these metrics if the states are unknown, so that the rest of the page
 * is still served. */
static void write_states(const struct platform_health *states, struct buf *b)
{
    if (!states)
        return;
    write_accounts(states, b);
    write_quotas(states, b);
    write_time_by_api(states, b);
    write_flags(states, b);
}

void platform_metrics_write(const struct admin_view *v, struct buf *b)
{
    const struct schedule_state *s = schedule_state(v->schedule);
    write_by_platform(s, b, "viewtally_platform_calls_total",
                      "Calls to platforms by runs of this process, including retries.", RUN_CALLS);
    write_by_platform(s, b, "viewtally_platform_retries_total",
                      "Calls to platforms that repeated a failed call.", RUN_RETRIES);
    write_by_platform(s, b, "viewtally_platform_tokens_refreshed_total",
                      "Access tokens refreshed by runs of this process.", RUN_TOKENS);
    write_outcomes(s, b);
    write_posts(s, b);
    write_states(database_states_get_platforms(v->states), b);
}

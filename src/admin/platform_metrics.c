/* The platforms as metrics: what this process's runs asked and were told, by platform, and by API what stands
 * in the database, whoever ran last. */
#include "admin/platform_metrics.h"

#include "base/clock.h"
#include "base/metrics.h"
#include "vault/account_states.h"

/* ---- of this process ---- */

static int64_t counted(const struct schedule_state *s, int platform, int counter)
{
    return s->counts.n[SOURCE_PLATFORMS][platform][counter];
}

static void write_by_platform(const struct schedule_state *s, struct buf *b, const char *name,
                              const char *help, int counter)
{
    metrics_family(b, name, METRICS_COUNTER, help);
    for (int p = 0; p < PLATFORM_COUNT; p++)
        metrics_value(b, name, METRICS_LABELS({"platform", platform_name((enum platform)p)}),
                      counted(s, p, counter));
}

static void write_verdicts(const struct schedule_state *s, struct buf *b)
{
    metrics_family(b, "viewtally_platform_verdicts_total", METRICS_COUNTER,
                   "How calls to platforms ended, by platform and verdict.");
    for (int p = 0; p < PLATFORM_COUNT; p++)
        for (int v = 0; v < VERDICTS; v++)
            metrics_value(b, "viewtally_platform_verdicts_total",
                          METRICS_LABELS({"platform", platform_name((enum platform)p)},
                                         {"verdict", str_from_cstr(verdict_name((enum verdict)v))}),
                          counted(s, p, RUN_VERDICT + v));
}

static void write_posts(const struct schedule_state *s, struct buf *b)
{
    metrics_family(b, "viewtally_platform_posts_total", METRICS_COUNTER,
                   "Posts that runs of this process were to ask for, by platform and what came of it.");
    for (int p = 0; p < PLATFORM_COUNT; p++)
        for (int c = RUN_READ; c <= RUN_PUT_OFF; c++)
            metrics_value(b, "viewtally_platform_posts_total",
                          METRICS_LABELS({"platform", platform_name((enum platform)p)},
                                         {"result", str_from_cstr(run_counter_name((enum run_counter)c))}),
                          counted(s, p, c));
}

/* ---- of the database ---- */

static struct str api_name(int api)
{
    return str_from_cstr(platform_desc((enum platform_api)api)->name);
}

static void write_accounts(const struct platform_state *states, struct buf *b)
{
    static const char *const names[CREDENTIAL_STATES] = {"fine", "sign_in"};
    metrics_family(
        b, "viewtally_platform_accounts", METRICS_GAUGE,
        "Accounts of authors, by API and state: fine, or sign_in, when the author has to sign in again.");
    for (int api = 0; api < PLATFORM_APIS; api++)
        for (int state = 0; state < CREDENTIAL_STATES; state++)
            metrics_value(b, "viewtally_platform_accounts",
                          METRICS_LABELS({"api", api_name(api)}, {"state", str_from_cstr(names[state])}),
                          states[api].accounts[state]);
}

static void write_quotas(const struct platform_state *states, struct buf *b)
{
    metrics_family(b, "viewtally_platform_quota_left", METRICS_GAUGE,
                   "Calls that the quota of the day still has, for APIs that have one.");
    for (int api = 0; api < PLATFORM_APIS; api++)
        if (states[api].units_per_day)
            metrics_value(b, "viewtally_platform_quota_left", METRICS_LABELS({"api", api_name(api)}),
                          states[api].units_left);
}

static void write_time_by_api(const struct platform_state *states, struct buf *b)
{
    metrics_family(b, "viewtally_platform_answered_timestamp_seconds", METRICS_GAUGE,
                   "When the API last gave a good answer, in seconds since 1970; 0: not yet.");
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const int64_t at = states[api].answered_at;
        metrics_seconds(b, "viewtally_platform_answered_timestamp_seconds",
                        METRICS_LABELS({"api", api_name(api)}), at == TIME_NONE ? 0 : at * 1000);
    }
}

static void write_flags(const struct platform_state *states, struct buf *b)
{
    metrics_family(b, "viewtally_platform_resting", METRICS_GAUGE,
                   "1: the API failed too often, or told us to wait, and is left alone for now.");
    for (int api = 0; api < PLATFORM_APIS; api++)
        metrics_value(b, "viewtally_platform_resting", METRICS_LABELS({"api", api_name(api)}),
                      states[api].resting_until != TIME_NONE || states[api].paused_until != TIME_NONE);
    metrics_family(b, "viewtally_platform_behind", METRICS_GAUGE,
                   "1: quota or time do not suffice for all posts, and older ones are asked for less often.");
    for (int api = 0; api < PLATFORM_APIS; api++)
        metrics_value(b, "viewtally_platform_behind", METRICS_LABELS({"api", api_name(api)}),
                      states[api].behind);
}

/* Without the database there is nothing to say; the page comes all the same. */
static void write_states(const struct admin_view *v, struct buf *b)
{
    struct platform_state states[PLATFORM_APIS];
    const int64_t now_ms = clock_wall_ms();
    for (int api = 0; api < PLATFORM_APIS; api++)
        if (platform_state_read(v->store, v->config, (enum platform_api)api, now_ms, &states[api]))
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
                      "Calls that runs of this process sent to platforms.", RUN_CALLS);
    write_by_platform(s, b, "viewtally_platform_retries_total", "Those of them that repeat one that failed.",
                      RUN_RETRIES);
    write_by_platform(s, b, "viewtally_platform_tokens_refreshed_total",
                      "Tokens that runs of this process refreshed.", RUN_TOKENS);
    write_verdicts(s, b);
    write_posts(s, b);
    write_states(v, b);
}

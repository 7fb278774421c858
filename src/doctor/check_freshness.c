/* Checks the age of the last refresh and of the last backup. */
#include "base/plural.h"
#include "doctor/doctor.h"

#include "base/clock.h"
#include "fetch/sources.h"
#include "jobs/lease.h"
#include "refresh/schedule.h"
#include "store/backups.h"
#include "store/runs.h"
#include "store/store_config.h"

#include <stdio.h>

/* The newest run. */
struct last_run {
    bool any, has_failed;             /* `any` is false if there was no run */
    char error[FINDING_TEXT_MAX / 2]; /* "" if none */
};

static bool on_run(void *ctx, const struct run_row *run)
{
    struct last_run *last = ctx;
    last->any = true;
    last->has_failed = run->outcome == RUN_FAILED;
    (void)snprintf(last->error, sizeof last->error, "%.*s", (int)run->error.len,
                   run->error.p ? run->error.p : "");
    return false;
}

static bool is_overdue(struct doctor *d, int64_t started_at)
{
    struct lease_row lease;
    bool held;
    return lease_read(d->store, LEASE_REFRESH, &lease, &held) == OK && !held &&
           refresh_is_late(d->config, d->now_ms, started_at);
}

static void check_refresh(struct doctor *d)
{
    int64_t started_at = TIME_NONE, finished_at;
    struct last_run last = {.any = false};
    const struct source_list sources = sources_from_config(d->config);
    if (!sources.sources[0]) {
        doctor_skip(d, "[refresh] source = none");
        return;
    }
    if (store_get_last_complete_run(d->store, &started_at, &finished_at) ||
        store_list_runs(d->store, 1, on_run, &last))
        doctor_error(d, "see the findings about the database", "the runs of the refresh cannot be read");
    else if (last.has_failed)
        doctor_error(d,
                     "correct the cause, then run viewtally refresh (docs/operating.md, The hourly refresh)",
                     "the last run of the refresh failed: %s", last.error);
    else if (is_overdue(d, started_at))
        doctor_error(
            d, "start the server if it is not running (systemctl start viewtally), or run viewtally refresh",
            started_at == TIME_NONE ? "no run of the refresh has completed yet" : "the refresh is overdue");
    else
        doctor_ok(d, "the refresh is up to date");
}

static void check_backup(struct doctor *d)
{
    struct backup_state state;
    const int64_t every_ms = d->config->backup.every_ms;
    if (!*d->config->backup.directory && !store_config_is_file(d->config)) {
        doctor_skip(d, "[backup] directory is not set; backups that other programs make are not checked");
        return;
    }
    if (!*d->config->backup.directory) {
        doctor_warn(
            d, "set [backup] directory (docs/backups.md, Scheduled backups), on another disk if possible",
            "there are no scheduled backups");
        return;
    }
    if (store_get_backup_state(d->store, &state)) {
        doctor_error(d, "see the findings about the database", "the state of the backups cannot be read");
        return;
    }
    const int64_t age_ms = state.started_at == TIME_NONE ? 0 : d->now_ms - state.started_at;
    const long long age_minutes = age_ms / MINUTE_MS;
    if (*state.error)
        doctor_error(d, "correct the cause; the server tries again", "the last backup failed: %s",
                     state.error);
    else if (state.started_at == TIME_NONE)
        doctor_error(d,
                     "start the server if it is not running (systemctl start viewtally), and see "
                     "files.backup_directory",
                     "there is no scheduled backup yet");
    else if (age_ms > 2 * every_ms)
        doctor_error(d,
                     "start the server if it is not running (systemctl start viewtally), and see "
                     "files.backup_directory",
                     "the last backup is %lld minute%s old", age_minutes, plural(age_minutes, "", "s"));
    else
        doctor_ok(d, "the last backup is %lld minute%s old", age_minutes, plural(age_minutes, "", "s"));
}

static const struct doctor_check checks[] = {
    {"refresh", NEEDS_STORE, check_refresh},
    {"backup", NEEDS_STORE, check_backup},
};
const struct doctor_group doctor_freshness = DOCTOR_GROUP("freshness", checks);

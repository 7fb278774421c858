/* The life of a run:
 *
 *   take the lease -> is it still needed? -> record the start -> each source in turn -> record the end, lease
 * given back
 *
 * Each arrow is a transaction of its own or more. A run that is killed leaves its row open and the lease to
 * expire; who takes the lease next marks the row lost. A run that lost its lease writes nothing more, not
 * even its end. */
#include "refresh/refresh.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "refresh/run_state.h"

#include <stdio.h>
#include <stdlib.h>

/* More than a year of hours; by number, for a clock may be wrong by years. */
enum { RUNS_KEPT = 10000 };

const char *run_state_name(enum run_state outcome)
{
    static const char *const names[RUN_STATES] = {"succeeded", "partial", "failed", "stopped", "abandoned"};
    return (int)outcome >= 0 && (int)outcome < RUN_STATES ? names[outcome] : "running";
}

const char *run_cause_name(enum run_cause cause)
{
    static const char *const names[] = {"schedule", "command", "spool"};
    return (int)cause >= 0 && (int)cause < 3 ? names[cause] : "unknown";
}

int64_t refresh_count(const struct refresh_counts *counts, enum run_counter counter)
{
    int64_t sum = 0;
    for (int s = 0; s < SOURCE_KINDS; s++)
        for (int p = 0; p < REFRESH_PLATFORMS; p++)
            sum += counts->n[s][p][counter];
    return sum;
}

int64_t refresh_count_refused(const struct refresh_counts *counts)
{
    int64_t sum = 0;
    for (int r = 0; r < REJECTION_KINDS; r++)
        sum += refresh_count(counts, (enum run_counter)(RUN_REFUSED + r));
    return sum;
}

/* --- the lease -------------------------------------------------------------------------------------------
 */

static enum err take_lease(struct run *run)
{
    struct lease_row row;
    enum err err = run_open_unleased(run);
    if (err)
        return err;
    err = lease_acquire(&run->lease, run->store, clock_wall_ms(), &row);
    if (!err)
        err = store_abandon_runs(run->store);
    if (!err)
        return run_commit(run);
    run_rollback(run);
    run->held_by_another = err == ERR_BUSY;
    if (run->held_by_another)
        return run_fail(run, err, "another refresh is running (%s)", row.holder);
    return run_fail_database(run, err);
}

static enum err give_back(struct run *run)
{
    enum err err = run_open_transaction(run);
    if (err)
        return err;
    err = lease_release(&run->lease, run->store);
    if (!err)
        return run_commit(run);
    run_rollback(run);
    return err;
}

static bool has_work(const struct refresh_options *o)
{
    bool has = o->cause != CAUSE_SPOOL;
    for (int i = 0; o->sources.sources[i] && !has; i++)
        has = !o->sources.sources[i]->has_work || o->sources.sources[i]->has_work(o->config);
    return has;
}

/* While nobody else can begin one. */
static enum err is_needed(struct run *run, bool *needed)
{
    const struct refresh_options *o = run->options;
    int64_t started_at, finished_at;
    *needed = has_work(o);
    if (!*needed || o->cause != CAUSE_SCHEDULE)
        return OK;
    enum err err = store_last_complete_run(run->store, &started_at, &finished_at);
    *needed = !err && slot_is_due(o->rule, clock_wall_ms(), started_at);
    return err;
}

/* --- the record ------------------------------------------------------------------------------------------
 */

static enum err record_start(struct run *run)
{
    run->row.cause = run->options->cause;
    run->row.holder = str_from_cstr(run->lease.holder);
    run->row.started_at = run->report->started_at = clock_wall_ms();
    run->started_us = clock_work_us();
    enum err err = run_open_transaction(run);
    if (err)
        return err;
    err = store_insert_run(run->store, &run->row);
    if (!err)
        err = store_prune_runs(run->store, run->row.row - RUNS_KEPT);
    if (!err)
        return run_commit(run);
    run_rollback(run);
    return run_fail_database(run, err);
}

static enum err put_counts(struct run *run)
{
    const struct refresh_counts *counts = &run->report->counts;
    enum err err = OK;
    for (int i = 0; i < SOURCE_KINDS * REFRESH_PLATFORMS * RUN_COUNTERS && !err; i++) {
        const int source = i / (REFRESH_PLATFORMS * RUN_COUNTERS);
        const int p = i / RUN_COUNTERS % REFRESH_PLATFORMS, counter = i % RUN_COUNTERS;
        const int64_t value = counts->n[source][p][counter];
        if (value)
            err = store_put_run_count(run->store, run->row.row, source,
                                      p == PLATFORM_COUNT ? RUN_NO_PLATFORM : p,
                                      run_counter_name((enum run_counter)counter), value);
    }
    return err;
}

static enum err record_end(struct run *run)
{
    const struct refresh_report *report = run->report;
    run->row.outcome = report->outcome;
    run->row.finished_at = report->started_at + report->duration_ms;
    run->row.error = report->why[0] ? str_from_cstr(report->why) : (struct str){0};
    enum err err = run_open_transaction(run);
    if (err)
        return err;
    err = put_counts(run);
    if (!err)
        err = store_finish_run(run->store, &run->row);
    if (!err)
        err = lease_release(&run->lease, run->store);
    if (!err)
        return run_commit(run);
    run_rollback(run);
    return run_fail_database(run, err);
}

/* --- the sources -----------------------------------------------------------------------------------------
 */

/* One that fails does not keep the others from being asked. */
static enum err ask_sources(struct run *run)
{
    enum err result = OK;
    for (int i = 0; run->options->sources.sources[i] && result != ERR_CANCELED; i++) {
        run->source = run->options->sources.sources[i];
        enum err err = run->source->run(run);
        CHECK(!run->open);
        run->step_count = run->reading_count = 0;
        run->report->source_failed[run->source->kind] = err != OK;
        if (err && err != ERR_CANCELED)
            log_error("refresh: source %s: %s", source_name(run->source->kind), run->report->why);
        result = err == ERR_CANCELED || !result ? err : result;
    }
    run->source = NULL;
    return result;
}

static enum run_state outcome_of(const struct run *run, enum err err)
{
    const struct refresh_counts *counts = &run->report->counts;
    if (run->lost)
        return RUN_ABANDONED;
    if (err)
        return err == ERR_CANCELED ? RUN_STOPPED : RUN_FAILED;
    return refresh_count_refused(counts) || refresh_count(counts, RUN_BAD_LINES) ? RUN_PARTIAL
                                                                                 : RUN_SUCCEEDED;
}

static void say_end(const struct run *run)
{
    const struct refresh_report *r = run->report;
    if (r->outcome == RUN_ABANDONED) {
        log_warn("refresh: another process has taken it over; this one writes nothing more");
        return;
    }
    const enum log_level level = r->outcome == RUN_FAILED ? LOG_ERROR : LOG_INFO;
    log_at(level,
           "refresh: %s in %lld ms: %lld readings accepted, %lld refused, %lld bad lines, %lld events%s%s",
           run_state_name(r->outcome), (long long)r->duration_ms,
           (long long)refresh_count(&r->counts, RUN_ACCEPTED), (long long)refresh_count_refused(&r->counts),
           (long long)refresh_count(&r->counts, RUN_BAD_LINES),
           (long long)(refresh_count(&r->counts, RUN_VIRAL_EVENTS) +
                       refresh_count(&r->counts, RUN_MILESTONE_EVENTS)),
           r->why[0] ? ": " : "", r->why);
}

static enum err run_sources(struct run *run)
{
    enum err err = record_start(run);
    if (err)
        return err;
    run->report->ran = true;
    log_debug("refresh: begins (%s)", run_cause_name(run->options->cause));
    err = ask_sources(run);
    run->report->outcome = outcome_of(run, err);
    run->report->duration_ms = (clock_work_us() - run->started_us) / 1000;
    if (!run->lost && record_end(run))
        run->report->outcome = run->lost ? RUN_ABANDONED : RUN_FAILED;
    say_end(run);
    return OK;
}

static enum err run_leased(struct run *run)
{
    bool needed;
    enum err err = is_needed(run, &needed);
    if (!err && needed)
        return run_sources(run);
    enum err back = give_back(run);
    return err ? err : back;
}

enum err refresh_run(const struct refresh_options *options, struct refresh_report *report)
{
    const struct store_options store = {.path = options->config->store.path,
                                        .mode = STORE_WRITE,
                                        .busy_timeout_ms = (int)options->config->store.busy_timeout_ms,
                                        .checkpointed = options->write_lock != NULL};
    struct error error;
    struct run run = {.options = options, .report = report, .rules = options->rules};
    *report = (struct refresh_report){0};
    /* Several processes hear of one file: those that come too late need not write for it. */
    if (!has_work(options))
        return OK;
    enum err err = store_open(&run.store, &store, &error);
    if (err) {
        (void)snprintf(report->why, sizeof report->why, "%.255s", error.text);
        return err;
    }
    lease_init(&run.lease);
    step_init(&run.step, &run.rules);
    err = take_lease(&run);
    if (!err)
        err = run_leased(&run);
    step_fini(&run.step);
    free(run.steps);
    free(run.readings);
    store_close(run.store);
    return err == ERR_BUSY && !run.held_by_another ? ERR_TIMEOUT : err;
}

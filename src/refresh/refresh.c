/* The life of a run:
 *
 *   acquire the lease -> still needed? -> record the start -> each source -> record the end and release
 *   the lease
 *
 * Each arrow is one or more transactions. If the process is killed, the record stays open and the lease
 * expires; the next run marks the record as abandoned. A run that has lost its lease writes nothing more, not
 * even its end, except tokens that it is refreshing. */
#include "refresh/refresh.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "refresh/run_internal.h"
#include "store/store_config.h"

#include <inttypes.h>
#include <stdio.h>

/* The number of runs whose records are stored: more than a year of hourly runs. Records are not deleted by
 * age, because the clock may be wrong by years. */
enum { RUNS_KEPT = 10000 };

const char *run_state_name(enum run_state state)
{
    static const char *const names[RUN_STATES] = {"succeeded", "partial", "failed", "stopped", "abandoned"};
    return (int)state >= 0 && (int)state < RUN_STATES ? names[state] : "running";
}

const char *run_cause_name(enum run_cause cause)
{
    static const char *const names[] = {"schedule", "command", "spool"};
    return (int)cause >= 0 && (int)cause < 3 ? names[cause] : "unknown";
}

/* --- acquiring and releasing the lease --- */

static enum err write_lease(struct store *store, void *ctx)
{
    struct run *run = ctx;
    struct lease_row row;
    const enum err err = lease_acquire(&run->lease, store, &row);
    if (run->lease.is_taken)
        return run_fail(run, err, "another refresh is running (%s)", row.holder);
    return err ? err : store_abandon_runs(store);
}

static enum err write_release(struct store *store, void *ctx)
{
    struct run *run = ctx;
    return lease_release(&run->lease, store);
}

static bool has_work(const struct refresh_options *o)
{
    if (o->cause != CAUSE_SPOOL)
        return true;
    for (int i = 0; o->sources.sources[i]; i++) {
        const struct source *source = o->sources.sources[i];
        if (!source->has_work || source->has_work(o->config))
            return true;
    }
    return false;
}

/* Sets `*needed` to true if there is still something to do. Call while holding the lease, so that no other
 * run can begin. */
static enum err check_if_needed(struct run *run, bool *needed)
{
    const struct refresh_options *o = run->options;
    int64_t started_at, finished_at;
    *needed = has_work(o);
    if (!*needed || o->cause != CAUSE_SCHEDULE)
        return OK;
    const enum err err = store_get_last_complete_run(run->store, &started_at, &finished_at);
    *needed = !err && slot_is_due(o->rule, clock_wall_ms(), started_at);
    return err;
}

/* --- the stored record of the run --- */

static enum err write_start(struct store *store, void *ctx)
{
    struct run *run = ctx;
    const enum err err = store_insert_run(store, &run->row);
    return err ? err : store_prune_runs(store, run->row.row - RUNS_KEPT);
}

static enum err record_start(struct run *run)
{
    run->row.cause = run->options->cause;
    run->row.holder = str_from_cstr(run->lease.holder);
    run->row.started_at = run->report->started_at = clock_wall_ms();
    run->started_us = clock_work_us();
    return run_transact_final(run, write_start, run);
}

static enum err store_counts(struct run *run)
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

static enum err write_end(struct store *store, void *ctx)
{
    struct run *run = ctx;
    enum err err = store_counts(run);
    if (!err)
        err = store_finish_run(store, &run->row);
    return err ? err : lease_release(&run->lease, store);
}

static enum err record_end(struct run *run)
{
    const struct refresh_report *report = run->report;
    run->row.outcome = report->state;
    run->row.finished_at = report->started_at + report->duration_ms;
    run->row.error = report->why[0] ? str_from_cstr(report->why) : (struct str){0};
    return run_transact_final(run, write_end, run);
}

/* --- running the sources --- */

/* Runs all sources, even if one of them fails, unless the run is canceled. */
static enum err run_each_source(struct run *run)
{
    enum err result = OK;
    for (int i = 0; run->options->sources.sources[i] && result != ERR_CANCELED; i++) {
        run->source = run->options->sources.sources[i];
        const enum err err = run->source->run(run);
        CHECK(!run->in_transaction);
        run->steps.count = run->readings.count = 0;
        run->report->source_failed[run->source->kind] = err != OK;
        if (err && err != ERR_CANCELED)
            log_error("refresh: source %s failed: %s", source_name(run->source->kind), run->report->why);
        result = err == ERR_CANCELED || !result ? err : result;
    }
    run->source = NULL;
    return result;
}

static enum run_state state_after(const struct run *run, enum err err)
{
    const struct refresh_counts *counts = &run->report->counts;
    if (run->lease_is_lost)
        return RUN_ABANDONED;
    if (err)
        return err == ERR_CANCELED ? RUN_STOPPED : RUN_FAILED;
    return refresh_count_rejected(counts) || refresh_count(counts, RUN_BAD_LINES) ? RUN_PARTIAL
                                                                                  : RUN_SUCCEEDED;
}

static void log_end(const struct run *run)
{
    const struct refresh_report *r = run->report;
    const struct refresh_counts *c = &r->counts;
    if (r->state == RUN_ABANDONED) {
        log_warn("refresh: abandoned: another process has taken over the lease");
        return;
    }
    const int64_t accepted = refresh_count(c, RUN_ACCEPTED);
    const int64_t bad_lines = refresh_count(c, RUN_BAD_LINES);
    const int64_t events = refresh_count(c, RUN_VIRAL_EVENTS) + refresh_count(c, RUN_MILESTONE_EVENTS);
    log_at(r->state == RUN_FAILED ? LOG_ERROR : LOG_INFO,
           "refresh: %s in %" PRId64 " ms: %" PRId64 " reading%s accepted, %" PRId64 " rejected, %" PRId64
           " bad line%s, %" PRId64 " event%s%s%s",
           run_state_name(r->state), r->duration_ms, accepted, plural(accepted, "", "s"),
           refresh_count_rejected(c), bad_lines, plural(bad_lines, "", "s"), events, plural(events, "", "s"),
           r->why[0] ? ": " : "", r->why);
}

static enum err run_sources(struct run *run)
{
    enum err err = record_start(run);
    if (err)
        return err;
    run->report->ran = true;
    log_debug("refresh: started (%s)", run_cause_name(run->options->cause));
    err = run_each_source(run);
    run->report->state = state_after(run, err);
    run->report->duration_ms = (clock_work_us() - run->started_us) / 1000;
    if (!run->lease_is_lost && record_end(run))
        run->report->state = run->lease_is_lost ? RUN_ABANDONED : RUN_FAILED;
    log_end(run);
    return OK;
}

static enum err run_with_lease(struct run *run)
{
    bool needed;
    enum err err = run_transact_unleased(run, write_lease, run);
    if (err)
        return err;
    err = check_if_needed(run, &needed);
    if (!err && needed)
        return run_sources(run);
    const enum err release_err = run_transact_final(run, write_release, run);
    return err ? err : release_err;
}

enum err refresh_run(const struct refresh_options *options, struct refresh_report *report)
{
    struct store_options store = store_options_from_config(options->config, STORE_WRITE);
    struct error error;
    struct run run = {.options = options, .report = report, .rules = options->rules};
    *report = (struct refresh_report){0};
    /* Several processes watch the spool. If another process has already applied the new file, write nothing.
     */
    if (!has_work(options))
        return OK;
    store.checkpointed = options->write_lock != NULL;
    enum err err = store_open(&run.store, &store, &error);
    if (err) {
        (void)snprintf(report->why, sizeof report->why, "%.255s", error.text);
        return err;
    }
    lease_init(&run.lease, LEASE_REFRESH);
    step_init(&run.step, &run.rules);
    err = run_with_lease(&run);
    step_fini(&run.step);
    VEC_FREE(&run.steps);
    VEC_FREE(&run.readings);
    VEC_FREE(&run.video_rows);
    store_close(run.store);
    return err == ERR_BUSY && !run.lease.is_taken ? ERR_TIMEOUT : err;
}

/* Starts a background job (background_job.h) when a run is due or the spool has changed.
 *
 * A run that could not start, because another process holds the lease or the database failed, is retried
 * after a pause. */
#include "refresh/schedule.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "jobs/background_job.h"
#include "rules/rule_settings.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define NO_SLOT INT64_MIN

struct slot_rule refresh_slot_rule(const struct config *config, uint64_t seed)
{
    const int64_t interval = config->refresh.interval_s;
    return (struct slot_rule){
        .period_ms = interval ? interval * SECOND_MS : HOUR_MS,
        .offset_ms = interval ? 0 : config->refresh.minute * MINUTE_MS,
        .jitter_ms = interval ? 0 : config->refresh.jitter_s * SECOND_MS,
        .seed = seed,
    };
}

/* A minute, because programs that watch the refresh often run at second 0, when a run has just become due. */
bool refresh_is_late(const struct config *config, int64_t now_ms, int64_t last_ms)
{
    struct slot_rule rule = refresh_slot_rule(config, 0);
    const int64_t delay_ms = rule.jitter_ms + (rule.period_ms < MINUTE_MS ? rule.period_ms : MINUTE_MS);
    rule.jitter_ms = 0;
    return slot_is_due(&rule, now_ms - delay_ms, last_ms);
}

struct schedule {
    const struct config *config;
    struct store_read read; /* the read that finds the last complete run */
    struct waiter read_wait;
    int64_t read_started_at, read_finished_at;
    struct ticket_lock *write_lock;
    struct source_list sources;
    struct background_job job;
    struct slot_rule rule;
    struct config run_config;       /* copy that the run reads: a reload may change `config` */
    struct refresh_options options; /* of the current run */
    struct refresh_report report;
    enum err result;
    bool spool_changed;
    bool reconfigured;   /* `rule` is outdated */
    uint64_t seed;       /* of the random delay in `rule` */
    int64_t failed_slot; /* slot of the last scheduled run if one of its sources failed, else NO_SLOT */
    bool source_failed[SOURCE_KINDS]; /* the sources that failed in that run */
    struct schedule_state state;
    void (*completed)(void *ctx); /* may be NULL */
    void *completed_ctx;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* ---- running a refresh ---- */

static void work(void *ctx)
{
    struct schedule *s = ctx;
    s->result = refresh_run(&s->options, &s->report);
}

/* Returns the sources that the next run reads. If a run of the same slot has failed, these are only the
 * sources that failed in it, because the others have succeeded. */
static struct source_list select_sources(const struct schedule *s, enum run_cause cause)
{
    if (cause == CAUSE_SPOOL)
        return source_list_only(&s->sources, SOURCE_SPOOL);
    if (slot_of(&s->rule, clock_wall_ms()) != s->failed_slot)
        return s->sources;
    struct source_list list = {{NULL}};
    for (int i = 0, n = 0; s->sources.sources[i]; i++)
        if (s->source_failed[s->sources.sources[i]->kind])
            list.sources[n++] = s->sources.sources[i];
    return list;
}

static void add_report(struct schedule_state *state, const struct refresh_report *report)
{
    int64_t *sums = &state->counts.n[0][0][0];
    const int64_t *more = &report->counts.n[0][0][0];
    for (size_t i = 0; i < sizeof report->counts / sizeof *more; i++)
        sums[i] += more[i];
    state->runs[report->state]++;
    state->duration_ms = report->duration_ms;
}

static void pause_after_failure(struct schedule *s)
{
    const int64_t pause_ms = background_job_pause_after_failure(&s->job);
    log_warn("refresh: retrying in %lld s", (long long)(pause_ms / SECOND_MS));
}

static void start(struct schedule *s, enum run_cause cause)
{
    config_copy(&s->run_config, s->config);
    s->options = (struct refresh_options){
        .config = &s->run_config,
        .sources = select_sources(s, cause),
        .cause = cause,
        .rules = step_rules_from_config(&s->run_config),
        .rule = &s->rule,
        .write_lock = s->write_lock,
        .stop = &s->job.stop,
    };
    /* Clear the flag before the run, because the run may miss files that arrive after it has listed the
     * spool. Keep the flag if the run does not read the spool. */
    if (source_list_only(&s->options.sources, SOURCE_SPOOL).sources[0])
        s->spool_changed = false;
    s->state.running = true;
    s->state.run_started_at = clock_wall_ms();
    const int status = background_job_start(&s->job);
    if (!status)
        return;
    log_error("refresh: cannot start a thread: %s", uv_strerror(status));
    config_fini(&s->run_config);
    s->state.running = false;
    s->spool_changed = s->spool_changed || cause == CAUSE_SPOOL;
    pause_after_failure(s);
}

static void record_failed_sources(struct schedule *s)
{
    const struct refresh_report *report = &s->report;
    bool any = false;
    for (int i = 0; i < SOURCE_KINDS; i++)
        any = any || report->source_failed[i];
    s->failed_slot = any && report->state == RUN_FAILED ? slot_of(&s->rule, report->started_at) : NO_SLOT;
    memcpy(s->source_failed, report->source_failed, sizeof s->source_failed);
}

/* Records since when another process has had a run in progress instead of the due run of this process. */
static void record_other_run(struct schedule *s)
{
    if (!s->state.other_is_running)
        s->state.other_found_at = s->state.run_started_at;
    s->state.other_is_running = true;
}

static void handle_result(struct schedule *s)
{
    const bool ran = !s->result && s->report.ran;
    const bool failed = ran ? s->report.state == RUN_FAILED : s->result && s->result != ERR_BUSY;
    if (ran)
        add_report(&s->state, &s->report);
    if (ran && s->options.cause == CAUSE_SCHEDULE)
        record_failed_sources(s);
    else if (failed && !ran)
        log_error("refresh: cannot start: %s", *s->report.why ? s->report.why : err_name(s->result));
    /* Set the flag again: the files are still in the spool, so another attempt must apply them. */
    if (s->options.cause == CAUSE_SPOOL && (s->result || failed))
        s->spool_changed = true;
    const bool succeeded = ran && (s->report.state == RUN_SUCCEEDED || s->report.state == RUN_PARTIAL);
    if (succeeded && s->options.cause != CAUSE_SPOOL && s->completed)
        s->completed(s->completed_ctx);
    if (s->result != ERR_BUSY)
        s->state.other_is_running = false;
    else if (s->options.cause == CAUSE_SCHEDULE)
        record_other_run(s);
    if (s->result == ERR_BUSY)
        background_job_pause_while_busy(&s->job);
    if (failed)
        pause_after_failure(s);
    else if (s->result != ERR_BUSY)
        background_job_clear_failures(&s->job);
}

/* ---- checking the clock ---- */

static void check_times(struct schedule *s)
{
    struct schedule_state *state = &s->state;
    /* After an error, which the database driver has logged, try again in a second. */
    if (s->read.err)
        return;
    state->last_started_at = s->read_started_at;
    state->last_finished_at = s->read_finished_at;
    /* A new rule is set here and not on reload, because a run in progress reads the rule. */
    if (s->reconfigured)
        s->rule = refresh_slot_rule(s->config, s->seed);
    s->reconfigured = false;
    const int64_t now = clock_wall_ms();
    const int64_t next = slot_next(&s->rule, now, state->last_started_at);
    /* If no run has completed so far, slot_next() returns `now` at every check. The time of the first check
     * is retained, so that next_at shows since when the run has been due. */
    if (next != now || state->next_at == TIME_NONE || state->next_at > now)
        state->next_at = next;
    if (state->next_at > now)
        state->other_is_running = false;
    if (background_job_is_paused(&s->job))
        return;
    if (state->next_at <= now)
        start(s, CAUSE_SCHEDULE);
    else if (s->spool_changed)
        start(s, CAUSE_SPOOL);
}

static void on_read(struct waiter *wait)
{
    check_times((struct schedule *)((char *)wait - offsetof(struct schedule, read_wait)));
}

static void check_due(void *ctx)
{
    struct schedule *s = ctx;
    if (!s->state.enabled || waiter_is_armed(&s->read_wait))
        return;
    if (store_find_last_complete_run(&s->read, &s->read_started_at, &s->read_finished_at) == NEXT_MORE)
        check_times(s);
}

static void on_ended(void *ctx)
{
    struct schedule *s = ctx;
    config_fini(&s->run_config);
    s->state.running = false;
    handle_result(s);
}

/* ---- opening and closing ---- */

static void on_closed(void *ctx)
{
    struct schedule *s = ctx;
    void (*closed)(void *ctx) = s->closed;
    void *closed_ctx = s->closed_ctx;
    free(s);
    closed(closed_ctx);
}

static const struct background_job_type job_type = {
    .nice = 5,
    .failed_pause_ms = 15 * SECOND_MS,
    .failed_pause_max_ms = 15 * MINUTE_MS,
    .check = check_due,
    .work = work,
    .ended = on_ended,
    .closed = on_closed,
};

struct schedule *schedule_open(uv_loop_t *loop, const struct config *config, struct store *store,
                               struct ticket_lock *write_lock, const struct source_list *sources)
{
    struct schedule *s = xcalloc(1, sizeof *s);
    randombytes_buf(&s->seed, sizeof s->seed);
    s->config = config;
    s->read = (struct store_read){.store = store, .wait = &s->read_wait};
    s->read_wait.wake = on_read;
    s->write_lock = write_lock;
    s->sources = *sources;
    s->rule = refresh_slot_rule(config, s->seed);
    s->state = (struct schedule_state){
        .enabled = sources->sources[0] != NULL,
        .last_started_at = TIME_NONE,
        .last_finished_at = TIME_NONE,
        .next_at = TIME_NONE,
        .duration_ms = -1,
    };
    s->failed_slot = NO_SLOT;
    background_job_open(&s->job, loop, &job_type, s);
    return s;
}

void schedule_reconfigure(struct schedule *s)
{
    s->reconfigured = true;
}

void schedule_on_complete(struct schedule *s, void (*completed)(void *ctx), void *ctx)
{
    s->completed = completed;
    s->completed_ctx = ctx;
}

void schedule_close(struct schedule *s, void (*closed)(void *ctx), void *ctx)
{
    s->closed = closed;
    s->closed_ctx = ctx;
    waiter_cancel(&s->read_wait);
    background_job_close(&s->job);
}

void schedule_spool_changed(struct schedule *s)
{
    s->spool_changed = true;
    background_job_check(&s->job);
}

const struct schedule_state *schedule_state(const struct schedule *s)
{
    return &s->state;
}

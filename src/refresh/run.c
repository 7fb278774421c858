/* What a source can do in a run: transactions in turn and under the lease, counting, the two ways in. Knows
 * no schedule, and of the run's life only that it can be told to stop. */
#include "refresh/run.h"

#include "base/check.h"
#include "base/clock.h"
#include "refresh/run_state.h"
#include "import/tempfile.h"
#include "store/ticket_lock.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    TRANSACTION_READINGS = 2000, /* gathered, before they are applied, */
    TRANSACTION_US = 200 * 1000, /* and how long a transaction goes on taking steps */
    BETWEEN_TRANSACTIONS_US =
        1000, /* in which another process's writer gets its turn: it only looks now and then */
};

const struct config *run_config(const struct run *run)
{
    return run->options->config;
}

const struct step_rules *run_rules(const struct run *run)
{
    return &run->rules;
}

struct store *run_store(struct run *run)
{
    return run->store;
}

int64_t run_observed_at(const struct run *run)
{
    return run->row.started_at;
}

enum err run_fail(struct run *run, enum err err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (err != ERR_CANCELED && !run->report->why[0])
        (void)vsnprintf(run->report->why, sizeof run->report->why, fmt, ap);
    va_end(ap);
    return err;
}

enum err run_fail_database(struct run *run, enum err err)
{
    return run_fail(run, err, "database error: %s", err_name(err));
}

/* --- transactions ----------------------------------------------------------------------------------------
 */

/* The process is stopping, or another process holds the lease. */
static bool is_stopping(const struct run *run)
{
    return run->lost || (run->options->stop && atomic_load(run->options->stop));
}

static void leave_gate(struct run *run)
{
    run->open = false;
    memset(run->pending, 0, sizeof run->pending);
    if (run->options->write_lock)
        ticket_lock_release(run->options->write_lock);
}

enum err run_open_unleased(struct run *run)
{
    CHECK(!run->open);
    if (run->options->write_lock)
        ticket_lock_acquire(run->options->write_lock);
    run->open = true;
    enum err err = store_begin(run->store);
    if (!err)
        return OK;
    leave_gate(run);
    return run_fail_database(run, err);
}

enum err run_open_transaction(struct run *run)
{
    if (run->lost)
        return ERR_CANCELED;
    enum err err = run_open_unleased(run);
    if (err)
        return err;
    err = lease_renew(&run->lease, run->store, clock_wall_ms());
    if (!err)
        return OK;
    run->lost = err == ERR_CANCELED;
    run_rollback(run);
    return run->lost ? err : run_fail_database(run, err);
}

enum err run_begin(struct run *run)
{
    return is_stopping(run) ? ERR_CANCELED : run_open_transaction(run);
}

static void add_counts(struct run *run)
{
    if (!run->source)
        return;
    for (int p = 0; p < REFRESH_PLATFORMS; p++)
        for (int c = 0; c < RUN_COUNTERS; c++)
            run->report->counts.n[run->source->kind][p][c] += run->pending[p][c];
}

enum err run_commit(struct run *run)
{
    const struct timespec pause = {.tv_nsec = BETWEEN_TRANSACTIONS_US * 1000L};
    CHECK(run->open);
    /* A transaction may have been long, for a step is never cut: the lease begins anew at its end. */
    enum err err = run->source ? lease_renew(&run->lease, run->store, clock_wall_ms()) : OK;
    if (err)
        store_rollback(run->store);
    else
        err = store_commit(run->store);
    if (!err)
        add_counts(run);
    else
        run->lease.renewed_at = TIME_NONE; /* if it was renewed, that is undone */
    leave_gate(run);
    if (err)
        return run_fail_database(run, err);
    (void)nanosleep(&pause, NULL);
    return OK;
}

void run_rollback(struct run *run)
{
    CHECK(run->open);
    store_rollback(run->store);
    run->lease.renewed_at = TIME_NONE;
    leave_gate(run);
}

enum err run_heartbeat(struct run *run)
{
    if (is_stopping(run))
        return ERR_CANCELED;
    if (!lease_renewal_is_due(&run->lease, clock_wall_ms()))
        return OK;
    enum err err = run_open_transaction(run);
    return err ? err : run_commit(run);
}

static enum err scope_begin(void *ctx)
{
    return run_begin(ctx);
}

static enum err scope_commit(void *ctx)
{
    return run_commit(ctx);
}

static void scope_rollback(void *ctx)
{
    run_rollback(ctx);
}

static enum err scope_heartbeat(void *ctx)
{
    return run_heartbeat(ctx);
}

struct transaction_scope run_transactions(struct run *run)
{
    return (struct transaction_scope){.store = run->store,
                                      .ctx = run,
                                      .begin = scope_begin,
                                      .commit = scope_commit,
                                      .rollback = scope_rollback,
                                      .heartbeat = scope_heartbeat};
}

static enum err unleased_begin(void *ctx)
{
    return run_open_unleased(ctx);
}

static enum err unleased_commit(void *ctx)
{
    struct run *run = ctx;
    CHECK(run->open);
    enum err err = store_commit(run->store);
    if (!err)
        add_counts(run);
    leave_gate(run);
    return err ? run_fail_database(run, err) : OK;
}

struct transaction_scope run_unleased_transactions(struct run *run)
{
    return (struct transaction_scope){.store = run->store,
                                      .ctx = run,
                                      .begin = unleased_begin,
                                      .commit = unleased_commit,
                                      .rollback = scope_rollback,
                                      .heartbeat = scope_heartbeat};
}

/* --- counting --------------------------------------------------------------------------------------------
 */

const char *run_counter_name(enum run_counter counter)
{
    static const char *const names[RUN_COUNTERS] = {
        [RUN_VIDEOS] = "videos",
        [RUN_ACCEPTED] = "accepted",
        [RUN_VIRAL_EVENTS] = "viral_events",
        [RUN_MILESTONE_EVENTS] = "milestone_events",
        [RUN_BAD_LINES] = "bad_lines",
        [RUN_REFUSED + REJECTION_UNKNOWN_POST] = "refused:unknown_post",
        [RUN_REFUSED + REJECTION_FUTURE] = "refused:future",
        [RUN_REFUSED + REJECTION_BEFORE_POST] = "refused:before_post",
        [RUN_REFUSED + REJECTION_AFTER_LIFE] = "refused:after_life",
        [RUN_REFUSED + REJECTION_STALE] = "refused:stale",
        [RUN_READ] = "read",
        [RUN_NO_DATA] = "no_data",
        [RUN_MISSING] = "missing",
        [RUN_PERMANENT] = "permanent",
        [RUN_UNANSWERED] = "unanswered",
        [RUN_PUT_OFF] = "put_off",
        [RUN_CALLS] = "calls",
        [RUN_RETRIES] = "retries",
        [RUN_TOKENS] = "tokens",
        [RUN_OUTCOME + OUTCOME_OK] = "verdict:ok",
        [RUN_OUTCOME + OUTCOME_RETRY] = "verdict:later",
        [RUN_OUTCOME + OUTCOME_QUOTA_SPENT] = "verdict:quota",
        [RUN_OUTCOME + OUTCOME_TOKEN_REJECTED] = "verdict:token",
        [RUN_OUTCOME + OUTCOME_RECONNECT] = "verdict:reconnect",
        [RUN_OUTCOME + OUTCOME_APP_REJECTED] = "verdict:operator",
        [RUN_OUTCOME + OUTCOME_OTHER_FORM] = "verdict:tier",
        [RUN_OUTCOME + OUTCOME_SPLIT] = "verdict:split",
        [RUN_OUTCOME + OUTCOME_MALFORMED] = "verdict:malformed",
        [RUN_OUTCOME + OUTCOME_BAD_REQUEST] = "verdict:bug",
    };
    return (int)counter >= 0 && (int)counter < RUN_COUNTERS && names[counter] ? names[counter] : "";
}

void run_count(struct run *run, int platform, enum run_counter counter, int64_t n)
{
    CHECK(platform >= RUN_NO_PLATFORM && platform < PLATFORM_COUNT && (int)counter < RUN_COUNTERS);
    const int p = platform == RUN_NO_PLATFORM ? PLATFORM_COUNT : platform;
    if (run->open)
        run->pending[p][counter] += n;
    else
        run->report->counts.n[run->source->kind][p][counter] += n;
}

static void count_reading(struct run *run, enum platform platform, enum rejection rejection)
{
    const int counter = rejection == REJECTION_NONE ? RUN_ACCEPTED : RUN_REFUSED + (int)rejection;
    run_count(run, platform, (enum run_counter)counter, 1);
}

static void count_steps(struct run *run, const struct step_result *now, const struct step_result *before)
{
    run_count(run, RUN_NO_PLATFORM, RUN_VIDEOS, now->videos_changed - before->videos_changed);
    run_count(run, RUN_NO_PLATFORM, RUN_VIRAL_EVENTS, now->viral_events - before->viral_events);
    run_count(run, RUN_NO_PLATFORM, RUN_MILESTONE_EVENTS, now->milestone_events - before->milestone_events);
}

/* --- way one: steps --------------------------------------------------------------------------------------
 */

static enum err apply_step(struct run *run, const struct queued_step *gathered)
{
    struct step_result result = {0};
    const struct step_result nothing = {0};
    enum rejection rejection = REJECTION_NONE;
    enum err err = OK;
    step_begin(&run->step, run->store, gathered->observed_at, clock_wall_ms());
    for (size_t i = gathered->first; i < gathered->first + gathered->count && !err; i++) {
        err = step_add(&run->step, &run->readings[i], &rejection);
        if (!err)
            count_reading(run, run->readings[i].platform, rejection);
    }
    if (!err)
        err = step_finish(&run->step, &result);
    if (!err)
        count_steps(run, &result, &nothing);
    return err ? run_fail_database(run, err) : OK;
}

/* As many steps from `*next` on as a transaction takes. */
static enum err apply_some(struct run *run, size_t *next)
{
    enum err err = run_begin(run);
    if (err)
        return err;
    const int64_t began_us = clock_work_us();
    while (!err && *next < run->step_count && clock_work_us() - began_us < TRANSACTION_US)
        err = apply_step(run, &run->steps[(*next)++]);
    if (!err)
        return run_commit(run);
    run_rollback(run);
    return err;
}

enum err run_flush(struct run *run)
{
    size_t next = 0;
    enum err err = OK;
    while (!err && next < run->step_count)
        err = apply_some(run, &next);
    run->step_count = run->reading_count = 0;
    return err;
}

static void *grow(void *p, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return p;
    *cap = need > 2 * *cap ? need : 2 * *cap;
    return xrealloc(p, *cap * size);
}

enum err run_queue_step(struct run *run, int64_t observed_at, const struct reading *readings, size_t count)
{
    if (!count)
        return OK;
    run->steps = grow(run->steps, &run->step_cap, run->step_count + 1, sizeof *run->steps);
    run->readings = grow(run->readings, &run->reading_cap, run->reading_count + count, sizeof *run->readings);
    memcpy(run->readings + run->reading_count, readings, count * sizeof *readings);
    run->steps[run->step_count++] =
        (struct queued_step){.observed_at = observed_at, .first = run->reading_count, .count = count};
    run->reading_count += count;
    return run->reading_count < TRANSACTION_READINGS ? OK : run_flush(run);
}

/* --- way two: a file -------------------------------------------------------------------------------------
 */

struct file_import {
    struct run *run;
    const struct run_file *file;
    struct import_summary *summary;
    struct step_result committed; /* what of summary->steps was counted */
};

static enum err on_commit_hook(void *ctx, const struct import_position *last)
{
    struct file_import *f = ctx;
    count_steps(f->run, &f->summary->steps, &f->committed);
    f->committed = f->summary->steps;
    return f->file->on_commit ? f->file->on_commit(f->file->ctx, f->run->store, last) : OK;
}

static void reading_hook(void *ctx, enum platform platform, enum rejection rejection)
{
    const struct file_import *f = ctx;
    count_reading(f->run, platform, rejection);
}

static void bad_line_hook(void *ctx, const char *name, int64_t line, struct str reason)
{
    const struct file_import *f = ctx;
    (void)name;
    f->file->on_bad_line(f->file->ctx, line, reason);
}

enum err run_import_file(struct run *run, const struct run_file *file, struct import_summary *summary)
{
    struct file_import f = {.run = run, .file = file, .summary = summary};
    const struct transaction_scope scope = run_transactions(run);
    char dir[PATH_MAX];
    temp_dir_of(run_config(run)->store.path, dir);
    const struct import_options options = {
        .files = &file->path,
        .fds = &file->fd,
        .file_count = 1,
        .temp_dir = dir,
        .lock_path = run_config(run)->store.path,
        .rules = run->rules,
        .now_ms = TIME_NONE,
        .after = file->after,
        .scope = &scope,
        .observer = {.ctx = &f, .on_commit = on_commit_hook, .on_reading = reading_hook},
        .ctx = &f,
        .on_bad_line = bad_line_hook};
    enum err err = import_run(run->store, &options, summary);
    run_count(run, RUN_NO_PLATFORM, RUN_BAD_LINES, summary->bad_lines);
    return err ? run_fail(run, err, "%s", summary->why) : OK;
}

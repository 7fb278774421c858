/* The functions of a run for its sources: counters, queued steps and imports of files. */
#include "refresh/run.h"

#include "base/check.h"
#include "base/clock.h"
#include "refresh/run_internal.h"
#include "store/database_files.h"

#include <stdarg.h>
#include <stdio.h>

/* The maximum number of queued readings, and the time during which steps are added to one transaction. */
enum { QUEUED_READINGS = 2000, TRANSACTION_US = 200 * 1000 };

/* The room for a formatted cause. It is larger than that for the stored cause, so vsnprintf() cuts no
 * character of the stored part. */
enum { CAUSE_MAX = 512 };

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

/* Formats a cause. It may contain the name of a file, which can consist of any bytes, but PostgreSQL stores
 * only valid UTF-8. */
static void format_why(char *out, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

static void format_why(char *out, size_t size, const char *fmt, va_list ap)
{
    char text[CAUSE_MAX];
    size_t len = 0;
    (void)vsnprintf(text, sizeof text, fmt, ap);
    struct str rest = str_from_cstr(text);
    while (rest.len) {
        const struct str character = str_cut_character(&rest);
        if (len + character.len >= size)
            break;
        memcpy(out + len, character.p, character.len);
        len += character.len;
    }
    out[len] = '\0';
}

enum err run_fail(struct run *run, enum err err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (err != ERR_CANCELED && !run->report->why[0])
        format_why(run->report->why, sizeof run->report->why, fmt, ap);
    va_end(ap);
    return err;
}

enum err run_fail_database(struct run *run, enum err err)
{
    return run_fail(run, err, "database error: %s", err_name(err));
}

/* --- counting readings and steps --- */

void run_count(struct run *run, int platform, enum run_counter counter, int64_t n)
{
    CHECK(platform >= RUN_NO_PLATFORM && platform < PLATFORM_COUNT && (int)counter < RUN_COUNTERS);
    const int p = platform == RUN_NO_PLATFORM ? PLATFORM_COUNT : platform;
    if (run->in_transaction)
        run->pending[p][counter] += n;
    else
        run->report->counts.n[run->source->kind][p][counter] += n;
}

static void count_reading(struct run *run, enum platform platform, enum rejection rejection)
{
    const int counter = rejection == REJECTION_NONE ? RUN_ACCEPTED : RUN_REJECTED + (int)rejection;
    run_count(run, platform, (enum run_counter)counter, 1);
}

static void count_steps(struct run *run, const struct step_result *now, const struct step_result *before)
{
    run_count(run, RUN_NO_PLATFORM, RUN_VIDEOS, now->videos_changed - before->videos_changed);
    run_count(run, RUN_NO_PLATFORM, RUN_VIRAL_EVENTS, now->viral_events - before->viral_events);
    run_count(run, RUN_NO_PLATFORM, RUN_MILESTONE_EVENTS, now->milestone_events - before->milestone_events);
}

/* --- queueing and applying steps --- */

static enum err apply_step(struct run *run, const struct queued_step *queued)
{
    struct step_result result = {0};
    const struct step_result nothing = {0};
    enum rejection rejection = REJECTION_NONE;
    enum err err = store_load_videos(run->store, run->video_rows.items + queued->first, queued->count,
                                     run->video_rows.count - queued->first);
    if (err)
        return run_fail_database(run, err);
    step_begin(&run->step, run->store, queued->observed_at, clock_wall_ms());
    for (size_t i = queued->first; i < queued->first + queued->count; i++) {
        err = step_add(&run->step, &run->readings.items[i], &rejection);
        if (err)
            return run_fail_database(run, err);
        count_reading(run, run->readings.items[i].platform, rejection);
    }
    err = step_finish(&run->step, &result);
    if (err)
        return run_fail_database(run, err);
    count_steps(run, &result, &nothing);
    return OK;
}

struct step_batch {
    struct run *run;
    size_t first, next; /* range of the applied steps in run->steps */
};

/* Applies queued steps until TRANSACTION_US has passed. */
static enum err apply_some(struct store *store, void *ctx)
{
    struct step_batch *b = ctx;
    struct run *run = b->run;
    const int64_t began_us = clock_work_us();
    enum err err = OK;
    (void)store;
    b->next = b->first;
    while (!err && b->next < run->steps.count && clock_work_us() - began_us < TRANSACTION_US)
        err = apply_step(run, &run->steps.items[b->next++]);
    return err;
}

enum err run_flush(struct run *run)
{
    struct step_batch batch = {.run = run};
    enum err err = OK;
    for (; !err && batch.first < run->steps.count; batch.first = batch.next)
        err = run_transact(run, apply_some, &batch);
    run->steps.count = run->readings.count = run->video_rows.count = 0;
    return err;
}

enum err run_queue_step(struct run *run, int64_t observed_at, const struct reading *readings, size_t count)
{
    if (!count)
        return OK;
    *VEC_ADD(&run->steps) =
        (struct queued_step){.observed_at = observed_at, .first = run->readings.count, .count = count};
    VEC_RESERVE(&run->readings, count);
    memcpy(run->readings.items + run->readings.count, readings, count * sizeof *readings);
    run->readings.count += count;
    for (size_t i = 0; i < count; i++)
        *VEC_ADD(&run->video_rows) = readings[i].video_row;
    return run->readings.count < QUEUED_READINGS ? OK : run_flush(run);
}

/* --- importing files --- */

struct file_import {
    struct run *run;
    const struct run_file *file;
    struct import_summary *summary;
    struct step_result counted; /* the part of summary->steps that the counters of the run already include */
};

static enum err on_import_commit(void *ctx, const struct import_position *last)
{
    struct file_import *f = ctx;
    count_steps(f->run, &f->summary->steps, &f->counted);
    f->counted = f->summary->steps;
    return f->file->on_commit ? f->file->on_commit(f->file->ctx, f->run->store, last) : OK;
}

static void on_import_reading(void *ctx, enum platform platform, enum rejection rejection)
{
    const struct file_import *f = ctx;
    count_reading(f->run, platform, rejection);
}

static void on_import_bad_line(void *ctx, const char *name, int64_t line, struct str reason)
{
    const struct file_import *f = ctx;
    (void)name;
    f->file->on_bad_line(f->file->ctx, line, reason);
}

enum err run_import_file(struct run *run, const struct run_file *file, struct import_summary *summary)
{
    struct file_import f = {.run = run, .file = file, .summary = summary};
    const struct transaction_scope scope = run_transactions(run);
    char copy[DATABASE_FILE_PATH_MAX];
    const struct import_options options = {
        .files = &file->path,
        .fds = &file->fd,
        .file_count = 1,
        .temp_dir = database_directory(copy, run_config(run)->store.path),
        .rules = run->rules,
        .unknown_fields = UNKNOWN_FIELDS_IGNORED, /* the program that wrote the file may be newer */
        .now_ms = TIME_NONE,
        .by = {.kind = ACTOR_REFRESH},
        .after = file->after,
        .scope = &scope,
        .observer = {.ctx = &f, .on_commit = on_import_commit, .on_reading = on_import_reading},
        .ctx = &f,
        .on_bad_line = on_import_bad_line};
    const enum err err = import_run(run->store, &options, summary);
    return err ? run_fail(run, err, "%s", summary->why) : OK;
}

void run_count_file(struct run *run, const struct import_summary *summary)
{
    run_count(run, RUN_NO_PLATFORM, RUN_BAD_LINES, summary->bad_lines);
    run_count(run, RUN_NO_PLATFORM, RUN_UNKNOWN_FIELDS, summary->unknown_field_lines);
    for (int p = 0; p < PLATFORM_COUNT; p++)
        run_count(run, p, (enum run_counter)(RUN_REJECTED + REJECTION_UNKNOWN_POST),
                  summary->unknown_posts[p]);
}

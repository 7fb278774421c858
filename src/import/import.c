/* The pipeline. Each phase is a function, in this order:
 *
 *     import_stage_input   files -> staging       (nothing is applied yet)
 *     import_apply_exports staging -> database    (each export in one transaction)
 *     apply_entities       staging -> database    (authors, then books, then videos)
 *     sort_readings        staging -> sorter      (each reading finds its video)
 *     apply_steps          sorter -> database     (a step is all readings of one author and time)
 *     finalize_videos      decides which videos with a new baseline are viral
 *
 * A step is never split between transactions, so after a crash it is complete or missing, and applying it
 * again changes nothing. */
#include "import/import.h"

#include "base/check.h"
#include "base/clock.h"
#include "import/import_batch.h"
#include "import/post_cache.h"
#include "store/import_lock.h"

#include <stdarg.h>
#include <stdio.h>

enum { PROGRESS_READINGS = 1000, SORT_BYTES = 32 * 1024 * 1024 };

/* ---- reporting ---- */

void import_report(struct import *im, uint64_t line, struct str reason)
{
    const struct import_options *o = im->options;
    o->on_bad_line(o->ctx, o->files[input_line_file(line)], input_line_number(line), reason);
}

void import_report_bad_line(struct import *im, uint64_t line, struct str reason)
{
    im->summary->bad_lines++;
    import_report(im, line, reason);
}

void import_show_progress(struct import *im, enum import_phase phase, int64_t done, int64_t total)
{
    const struct import_progress progress = {.phase = phase, .done = done, .total = total};
    if (im->options->on_progress)
        im->options->on_progress(im->options->ctx, &progress);
}

enum err import_fail(struct import *im, enum err err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(im->summary->why, sizeof im->summary->why, fmt, ap);
    va_end(ap);
    return err;
}

enum err import_fail_temp(struct import *im, enum err err)
{
    return import_fail(im, err, "temporary files in %s: %s", im->options->temp_dir, err_name(err));
}

enum err import_fail_store(struct import *im, enum err err)
{
    return import_fail(im, err, "database error: %s", err_name(err));
}

static void observe_reading(struct import *im, enum platform platform, enum rejection rejection)
{
    const struct import_observer *o = &im->options->observer;
    if (o->on_reading)
        o->on_reading(o->ctx, platform, rejection);
}

static int64_t wall_ms(const struct import *im)
{
    return im->options->now_ms == TIME_NONE ? clock_wall_ms() : im->options->now_ms;
}

/* ---- authors, books and videos ---- */

static enum err apply_line(struct import *im, struct upserts *upserts, uint64_t input_line, struct str line)
{
    struct record record;
    struct str why;
    CHECK(record_parse(im->parser, line, &record, &why)); /* it was valid when it was staged */
    enum err err = upserts_apply(upserts, &record, &why);
    if (err)
        return import_fail_store(im, err);
    if (why.p)
        import_report_bad_line(im, input_line, why);
    im->batch.rows++;
    return OK;
}

static enum err apply_line_batch(struct import *im, struct upserts *upserts,
                                 struct staged_line_reader *reader, bool *has)
{
    uint64_t input_line;
    struct str line;
    enum err err = import_batch_begin(im);
    if (err)
        return err;
    upserts_begin(upserts);
    while (!err && *has && !import_batch_is_full(im)) {
        err = staged_line_next(reader, &input_line, &line, has);
        if (err)
            err = import_fail_temp(im, err);
        else if (*has)
            err = apply_line(im, upserts, input_line, line);
    }
    return import_batch_end(im, err);
}

static enum err apply_kind(struct import *im, struct upserts *upserts, enum record_kind kind, int64_t *done,
                           int64_t total)
{
    struct staged_line_reader reader;
    bool has = im->staging.counts[kind] > 0;
    enum err err = staging_open_lines(&im->staging, kind, &reader);
    if (err)
        err = import_fail_temp(im, err);
    while (!err && has) {
        err = apply_line_batch(im, upserts, &reader, &has);
        *done += im->batch.rows;
        import_show_progress(im, IMPORT_ENTITIES, *done, total);
    }
    staged_line_reader_close(&reader);
    return err;
}

static enum err apply_entities(struct import *im)
{
    struct upserts upserts;
    const int64_t *counts = im->staging.counts;
    const int64_t total = counts[RECORD_AUTHOR] + counts[RECORD_BOOK] + counts[RECORD_VIDEO];
    int64_t done = 0;
    enum err err = OK;
    upserts_init(&upserts, im->store, &im->options->rules, im->now, &im->options->by);
    for (int k = RECORD_AUTHOR; k <= RECORD_VIDEO && !err; k++)
        err = apply_kind(im, &upserts, (enum record_kind)k, &done, total);
    for (int k = 0; k < RECORD_KINDS; k++) {
        im->summary->upserts[k].created += upserts.counts[k].created;
        im->summary->upserts[k].changed += upserts.counts[k].changed;
        im->summary->upserts[k].unchanged += upserts.counts[k].unchanged;
    }
    upserts_fini(&upserts);
    return err;
}

/* ---- sorting the readings ---- */

static enum err sort_reading(struct import *im, struct post_cache *cache, const struct staged_reading *r)
{
    struct cached_post post;
    bool found;
    const enum platform platform = (enum platform)r->platform;
    enum err err = post_cache_find(cache, platform, str_make(r->post_id, r->post_id_len), &post, &found);
    if (err)
        return import_fail_store(im, err);
    if (!found) {
        im->summary->rejected[REJECTION_UNKNOWN_POST]++;
        observe_reading(im, platform, REJECTION_UNKNOWN_POST);
        import_report(im, r->input_line, rejection_text(REJECTION_UNKNOWN_POST));
        return OK;
    }
    struct sort_record record = {
        .observed_at = r->observed_at,
        .author = post.author,
        .sequence = r->input_line,
        .video_row = post.video_row,
        .platform = r->platform,
        .baseline = r->baseline,
    };
    memcpy(record.counts, r->counts, sizeof record.counts);
    err = sorter_add(im->sorter, &record);
    return err ? import_fail_temp(im, err) : OK;
}

static enum err sort_readings(struct import *im)
{
    struct temp_reader reader;
    struct staged_reading r;
    struct post_cache *cache = post_cache_new(im->store);
    const int64_t total = im->staging.counts[RECORD_READING];
    bool has = true;
    int64_t done = 0;
    enum err err = staging_open_readings(&im->staging, &reader);
    if (err)
        err = import_fail_temp(im, err);
    while (!err && has) {
        err = staging_next_reading(&reader, &r, &has);
        if (err)
            err = import_fail_temp(im, err);
        else if (has)
            err = sort_reading(im, cache, &r);
        if (++done % PROGRESS_READINGS == 0) {
            import_show_progress(im, IMPORT_SORTING, done, total);
            err = err ? err : import_heartbeat(im);
        }
    }
    temp_reader_close(&reader);
    post_cache_free(cache);
    if (!err && (err = sorter_finish(im->sorter)) != OK)
        err = import_fail_temp(im, err);
    return err;
}

/* ---- applying the steps ---- */

static enum err add_to_step(struct import *im, struct step *step, const struct sort_record *record)
{
    enum rejection rejection;
    struct reading reading = {
        .video_row = record->video_row,
        .platform = (enum platform)record->platform,
        .baseline = record->baseline != 0,
    };
    memcpy(reading.counts, record->counts, sizeof reading.counts);
    enum err err = step_add(step, &reading, &rejection);
    if (err)
        return import_fail_store(im, err);
    im->batch.rows++;
    observe_reading(im, reading.platform, rejection);
    if (rejection != REJECTION_NONE) {
        im->summary->rejected[rejection]++;
        if (rejection != REJECTION_STALE || !im->options->accepts_older)
            import_report(im, record->sequence, rejection_text(rejection));
    }
    return OK;
}

/* `*record` is the first reading of the step on entry and the first of the next step on return. */
static enum err apply_step(struct import *im, struct step *step, struct sort_record *record, bool *has)
{
    const struct uuid author = record->author;
    const int64_t observed_at = record->observed_at;
    enum err err = OK;
    step_begin(step, im->store, observed_at, wall_ms(im));
    while (!err && *has && record->observed_at == observed_at && uuid_eq(&record->author, &author)) {
        err = add_to_step(im, step, record);
        if (!err && (err = sorter_next(im->sorter, record, has)) != OK)
            err = import_fail_temp(im, err);
    }
    if (!err && (err = step_finish(step, &im->summary->steps)) != OK)
        err = import_fail_store(im, err);
    im->last = (struct import_position){.observed_at = observed_at, .author = author};
    im->has_last = true;
    return err;
}

/* Skips the steps that an earlier import of the same file has applied. */
static enum err skip_steps(struct import *im, struct sort_record *record, bool *has)
{
    const struct import_position *after = im->options->after;
    enum err err = OK;
    for (int64_t n = 1; after && !err && *has; n++) {
        if (record->observed_at > after->observed_at ||
            (record->observed_at == after->observed_at && uuid_cmp(&record->author, &after->author) > 0))
            break;
        err = sorter_next(im->sorter, record, has);
        if (err)
            err = import_fail_temp(im, err);
        else if (n % PROGRESS_READINGS == 0)
            err = import_heartbeat(im);
    }
    if (after) {
        im->last = *after;
        im->has_last = true;
    }
    return err;
}

static enum err apply_step_batch(struct import *im, struct step *step, struct sort_record *record, bool *has)
{
    enum err err = import_batch_begin(im);
    if (err)
        return err;
    while (!err && *has && !import_batch_is_full(im))
        err = apply_step(im, step, record, has);
    return import_batch_end(im, err);
}

static enum err apply_steps(struct import *im)
{
    struct step step;
    struct sort_record record;
    const int64_t total = im->summary->readings - im->summary->rejected[REJECTION_UNKNOWN_POST];
    int64_t done = 0;
    bool has;
    enum err err = sorter_next(im->sorter, &record, &has);
    if (err)
        return import_fail_temp(im, err);
    step_init(&step, &im->options->rules);
    err = skip_steps(im, &record, &has);
    while (!err && has) {
        err = apply_step_batch(im, &step, &record, &has);
        done += im->batch.rows;
        import_show_progress(im, IMPORT_APPLYING, done, total);
    }
    step_fini(&step);
    return err;
}

/* ---- finalizing ---- */

static enum err acquire_lock(struct import *im)
{
    const enum err err = im->options->is_private ? OK : import_lock_share(im->store);
    return err ? import_fail(im, err, "cannot acquire the import lock: %s", err_name(err)) : OK;
}

static enum err finalize_videos(struct import *im)
{
    struct finalizing_result done = {0};
    bool more = true;
    enum err err = im->options->is_private ? OK : import_lock_try_exclusive(im->store, &more);
    if (err)
        return import_fail_store(im, err);
    im->summary->finalizing_left = !more;
    while (!err && more) {
        err = import_batch_begin(im);
        if (err)
            return err;
        err = finalizing_run_batch(im->store, &im->options->rules, FINALIZING_BATCH_MAX, &done, &more);
        if (err)
            err = import_fail_store(im, err);
        err = import_batch_end(im, err);
        import_show_progress(im, IMPORT_FINALIZING, done.videos, 0);
    }
    im->summary->viral_by_baseline = done.went_viral;
    return err;
}

/* ---- all phases ---- */

static enum err run_phases(struct import *im)
{
    enum err err = staging_open(&im->staging, im->options->temp_dir);
    if (!err)
        err = export_sections_open(&im->sections, im->options->temp_dir);
    if (err)
        return import_fail_temp(im, err);
    err = import_stage_input(im);
    im->now = wall_ms(im);
    im->summary->readings = im->staging.counts[RECORD_READING];
    if (err)
        return err;
    err = acquire_lock(im);
    if (err)
        return err;
    if (!im->options->after) /* if `after` is set, an earlier import has applied authors, books and videos */
        err = import_apply_exports(im);
    if (!err && !im->options->after)
        err = apply_entities(im);
    if (err)
        return err;
    err = sort_readings(im);
    if (err)
        return err;
    err = apply_steps(im);
    return err ? err : finalize_videos(im);
}

enum err import_run(struct store *store, const struct import_options *options, struct import_summary *summary)
{
    struct import im = {.options = options, .summary = summary, .store = store, .sections.file.fd = -1};
    memset(summary, 0, sizeof *summary);
    im.scope = options->scope ? *options->scope : transaction_scope_plain(store);
    im.parser = record_parser_new(options->unknown_fields);
    im.sorter = sorter_new(options->temp_dir, options->sort_bytes ? options->sort_bytes : SORT_BYTES);
    enum err err = run_phases(&im);
    import_lock_release(store);
    sorter_free(im.sorter);
    staging_close(&im.staging);
    export_sections_close(&im.sections);
    record_parser_free(im.parser);
    return err;
}

int64_t import_rejected_readings(const struct import_summary *summary)
{
    int64_t sum = 0;
    for (int i = 0; i < REJECTION_KINDS; i++)
        sum += summary->rejected[i];
    return sum;
}

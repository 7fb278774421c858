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
#include "base/hash.h"
#include "import/import_batch.h"
#include "import/post_cache.h"
#include "import/reading_queue.h"
#include "store/import_lock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROGRESS_READINGS = 1000, SORT_BYTES = 32 * 1024 * 1024 };

/* ---- reporting bad lines, progress and errors ---- */

static void report_line(struct import *im, uint64_t line, struct str reason)
{
    const struct import_options *o = im->options;
    o->on_bad_line(o->ctx, o->files[input_line_file(line)], input_line_number(line), reason);
}

void import_report_bad_line(struct import *im, uint64_t line, struct str reason)
{
    im->summary->bad_lines++;
    report_line(im, line, reason);
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
    if (im->summary->why[0]) /* a function that this one called has already named the cause */
        return err;
    va_start(ap, fmt);
    (void)vsnprintf(im->summary->why, sizeof im->summary->why, fmt, ap);
    va_end(ap);
    return err;
}

enum err import_fail_temp(struct import *im, enum err err)
{
    return import_fail(im, err, "cannot use temporary files in %s, the directory of [store] path: %s",
                       im->options->temp_dir, err_name(err));
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

/* Staged readings whose videos are looked up together. */
struct lookup_batch {
    size_t max, count;
    struct staged_reading *readings;
    struct post_key *keys; /* post keys of `readings` */
    struct cached_post *posts;
    struct post_cache *cache;
};

static void lookup_batch_init(struct lookup_batch *b, struct store *store)
{
    b->max = store_get_read_batch(store);
    b->count = 0;
    b->readings = xcalloc(b->max, sizeof b->readings[0]);
    b->keys = xcalloc(b->max, sizeof b->keys[0]);
    b->posts = xcalloc(b->max, sizeof b->posts[0]);
    b->cache = post_cache_new(store);
}

static void lookup_batch_fini(struct lookup_batch *b)
{
    free(b->readings);
    free(b->keys);
    free(b->posts);
    post_cache_free(b->cache);
}

static enum err sort_reading(struct import *im, const struct staged_reading *r,
                             const struct cached_post *post)
{
    if (!post->video_row) {
        im->summary->rejected[REJECTION_UNKNOWN_POST]++;
        im->summary->unknown_posts[r->platform]++;
        report_line(im, r->input_line, rejection_text(REJECTION_UNKNOWN_POST));
        return OK;
    }
    struct sort_record record = {
        .observed_at = r->observed_at,
        .author = post->author,
        .sequence = r->input_line,
        .video_row = post->video_row,
        .post_id_hash = hash_64(str_make(r->post_id, r->post_id_len), 0),
        .platform = r->platform,
        .baseline = r->baseline,
    };
    memcpy(record.counts, r->counts, sizeof record.counts);
    const enum err err = sorter_add(im->sorter, &record);
    return err ? import_fail_temp(im, err) : OK;
}

static enum err sort_batch(struct import *im, struct lookup_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        b->keys[i] =
            (struct post_key){.platform = (enum platform)b->readings[i].platform,
                              .post_id = str_make(b->readings[i].post_id, b->readings[i].post_id_len)};
    enum err err = post_cache_find(b->cache, b->keys, b->count, b->posts);
    if (err)
        return import_fail_store(im, err);
    for (size_t i = 0; i < b->count && !err; i++)
        err = sort_reading(im, &b->readings[i], &b->posts[i]);
    return err;
}

static enum err read_batch(struct temp_reader *reader, struct lookup_batch *b, bool *has)
{
    enum err err = OK;
    for (b->count = 0; !err && *has && b->count < b->max; b->count += !err && *has)
        err = staging_next_reading(reader, &b->readings[b->count], has);
    return err;
}

static enum err sort_all(struct import *im, struct temp_reader *reader, struct lookup_batch *b)
{
    const int64_t total = im->staging.counts[RECORD_READING];
    int64_t done = 0, shown = 0;
    bool has = true;
    enum err err = OK;
    while (!err && has) {
        err = read_batch(reader, b, &has);
        err = err ? import_fail_temp(im, err) : sort_batch(im, b);
        done += (int64_t)b->count;
        if (!err && done - shown >= PROGRESS_READINGS) {
            shown = done;
            import_show_progress(im, IMPORT_SORTING, done, total);
            err = import_heartbeat(im);
        }
    }
    return err;
}

static enum err sort_heartbeat(void *ctx)
{
    return import_heartbeat(ctx);
}

static enum err sort_readings(struct import *im)
{
    struct temp_reader reader;
    struct lookup_batch batch;
    enum err err = staging_open_readings(&im->staging, &reader);
    lookup_batch_init(&batch, im->store);
    sorter_set_heartbeat(im->sorter, sort_heartbeat, im);
    err = err ? import_fail_temp(im, err) : sort_all(im, &reader, &batch);
    lookup_batch_fini(&batch);
    temp_reader_close(&reader);
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
        .post_id_hash = record->post_id_hash,
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
            report_line(im, record->sequence, rejection_text(rejection));
    }
    return OK;
}

/* Returns the next reading, or NULL after the last one or after an error. */
static const struct sort_record *next_reading(struct import *im, struct reading_queue *queue, enum err *err)
{
    if (*err)
        return NULL;
    const struct sort_record *record = reading_queue_peek(queue, err);
    if (*err)
        *err = import_fail_temp(im, *err);
    return record;
}

/* Adds the readings of the step to which `first` belongs. */
static enum err add_readings(struct import *im, struct step *step, struct reading_queue *queue,
                             const struct sort_record *first)
{
    enum err err = OK;
    const struct sort_record *record;
    while ((record = next_reading(im, queue, &err)) && reading_is_of_step(first, record)) {
        err = add_to_step(im, step, record);
        reading_queue_pop(queue);
    }
    return err;
}

static enum err apply_step(struct import *im, struct step *step, struct reading_queue *queue,
                           struct sort_record first)
{
    enum err err = reading_queue_load_videos(queue, im->store);
    if (err)
        return import_fail_store(im, err);
    step_begin(step, im->store, first.observed_at, wall_ms(im));
    err = add_readings(im, step, queue, &first);
    if (!err && (err = step_finish(step, &im->summary->steps)) != OK)
        err = import_fail_store(im, err);
    im->last = (struct import_position){.observed_at = first.observed_at, .author = first.author};
    im->has_last = true;
    return err;
}

static bool is_after(const struct sort_record *record, const struct import_position *position)
{
    return record->observed_at > position->observed_at ||
           (record->observed_at == position->observed_at && uuid_cmp(&record->author, &position->author) > 0);
}

/* Skips the steps that an earlier import of the same file has applied. */
static enum err skip_steps(struct import *im, struct reading_queue *queue)
{
    const struct import_position *after = im->options->after;
    enum err err = OK;
    const struct sort_record *record;
    for (int64_t n = 1; after && (record = next_reading(im, queue, &err)) && !is_after(record, after); n++) {
        reading_queue_pop(queue);
        if (n % PROGRESS_READINGS == 0)
            err = import_heartbeat(im);
    }
    if (after) {
        im->last = *after;
        im->has_last = true;
    }
    return err;
}

static enum err apply_step_batch(struct import *im, struct step *step, struct reading_queue *queue)
{
    const struct sort_record *first;
    enum err err = import_batch_begin(im);
    if (err)
        return err;
    while (!import_batch_is_full(im) && (first = next_reading(im, queue, &err)))
        err = apply_step(im, step, queue, *first);
    return import_batch_end(im, err);
}

static enum err apply_queue(struct import *im, struct step *step, struct reading_queue *queue)
{
    const int64_t total = im->summary->readings - im->summary->rejected[REJECTION_UNKNOWN_POST];
    int64_t done = 0;
    enum err err = skip_steps(im, queue);
    while (next_reading(im, queue, &err)) {
        err = apply_step_batch(im, step, queue);
        done += im->batch.rows;
        import_show_progress(im, IMPORT_APPLYING, done, total);
    }
    return err;
}

static enum err apply_steps(struct import *im)
{
    struct step step;
    struct reading_queue queue;
    step_init(&step, &im->options->rules);
    reading_queue_init(&queue, im->sorter);
    const enum err err = apply_queue(im, &step, &queue);
    reading_queue_fini(&queue);
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
        err = finalizing_apply_batch(im->store, &im->options->rules, FINALIZING_BATCH_MAX, &done, &more);
        if (err)
            err = import_fail_store(im, err);
        err = import_batch_end(im, err);
        import_show_progress(im, IMPORT_FINALIZING, done.videos, 0);
    }
    im->summary->finalized_viral = done.went_viral;
    return err;
}

/* ---- running all phases ---- */

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

/* The pipeline. Each phase is a function below, in the order in which they run:
 *
 *     read_inputs     files -> staging          (nothing is applied yet)
 *     apply_entities  staging -> database       (authors, then books, then videos)
 *     sort_readings   staging -> sorter         (each reading finds its video)
 *     apply_steps     sorter -> database       (a step is all readings of one author and time)
 *     close_baselines                          (the closing pass)
 *
 * A step is never cut by a transaction, so after a crash it is there or not; and a step that is there already
 * changes nothing when it comes again. */
#include "import/import.h"

#include "base/check.h"
#include "base/clock.h"
#include "import/import_lock.h"
#include "import/staging.h"
#include "import/line_reader.h"
#include "import/post_cache.h"
#include "import/sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TRANSACTION_ROWS = 2000,        /* readings or lines, */
    TRANSACTION_US = 200 * 1000,    /* or time, whichever is reached first */
    BETWEEN_TRANSACTIONS_US = 1000, /* in which another writer takes its turn */
    PROGRESS_LINES = 1000,
    SORT_BYTES = 32 * 1024 * 1024,
};

struct import {
    const struct import_options *options;
    struct import_summary *summary;
    struct store *store;
    struct transaction_scope scope;
    struct record_parser *parser;
    struct staging staging;
    struct sorter *sorter;
    struct import_lock lock;
    int64_t now;        /* when the input had been read */
    int64_t started_us; /* the open transaction, */
    int64_t rows;       /* and what it holds */
    bool has_last;      /* a step was applied, */
    struct import_position last;
};

/* --- small things ----------------------------------------------------------------------------------------
 */

static void report(struct import *im, uint64_t place, struct str reason)
{
    const struct import_options *o = im->options;
    o->on_bad_line(o->ctx, o->files[input_line_file(place)], input_line_number(place), reason);
}

static void report_bad_line(struct import *im, uint64_t place, struct str reason)
{
    im->summary->bad_lines++;
    report(im, place, reason);
}

static void show(struct import *im, enum import_phase phase, int64_t done, int64_t total)
{
    const struct import_progress progress = {.phase = phase, .done = done, .total = total};
    if (im->options->on_progress)
        im->options->on_progress(im->options->ctx, &progress);
}

static __attribute__((format(printf, 3, 4))) enum err fail(struct import *im, enum err err, const char *fmt,
                                                           ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(im->summary->why, sizeof im->summary->why, fmt, ap);
    va_end(ap);
    return err;
}

static enum err temp_failed(struct import *im, enum err err)
{
    return fail(im, err, "temporary files in %s: %s", im->options->temp_dir, err_name(err));
}

static enum err store_failed(struct import *im, enum err err)
{
    return fail(im, err, "database error: %s", err_name(err));
}

static void tell_reading(struct import *im, enum platform platform, enum rejection rejection)
{
    const struct import_observer *o = &im->options->observer;
    if (o->on_reading)
        o->on_reading(o->ctx, platform, rejection);
}

static int64_t wall_ms(const struct import *im)
{
    return im->options->now_ms == TIME_NONE ? clock_wall_ms() : im->options->now_ms;
}

/* Other work than the import's own, between transactions. */
static enum err take_turn(struct import *im)
{
    enum err err = transaction_heartbeat(&im->scope);
    return err ? fail(im, err, "stopped: %s", err_name(err)) : OK;
}

static enum err begin(struct import *im)
{
    im->rows = 0;
    enum err err = transaction_begin(&im->scope);
    im->started_us = clock_work_us(); /* not the wait for another writer */
    return err ? store_failed(im, err) : OK;
}

static bool is_long_enough(const struct import *im)
{
    return im->rows >= TRANSACTION_ROWS || clock_work_us() - im->started_us >= TRANSACTION_US;
}

static enum err commit(struct import *im)
{
    const struct import_observer *o = &im->options->observer;
    enum err err = o->on_commit ? o->on_commit(o->ctx, im->has_last ? &im->last : NULL) : OK;
    if (!err)
        return transaction_commit(&im->scope);
    transaction_rollback(&im->scope);
    return err;
}

/* Commits, or rolls back what failed; then stands aside for a moment: SQLite's lock has no queue, and who
 * waits for it looks only now and then. */
static enum err end(struct import *im, enum err err)
{
    const struct timespec pause = {.tv_nsec = BETWEEN_TRANSACTIONS_US * 1000L};
    if (err) {
        transaction_rollback(&im->scope);
        return err;
    }
    err = commit(im);
    if (err)
        return store_failed(im, err);
    if (!im->options->scope)
        (void)nanosleep(&pause, NULL);
    return OK;
}

/* --- reading the input -----------------------------------------------------------------------------------
 */

static enum err take_line(struct import *im, uint64_t place, struct str line)
{
    struct record record;
    struct str why;
    if (record_is_blank(line))
        return OK;
    im->summary->lines++;
    if (!record_parse(im->parser, line, &record, &why)) {
        report_bad_line(im, place, why);
        return OK;
    }
    enum err err = staging_add(&im->staging, place, line, &record);
    return err ? temp_failed(im, err) : OK;
}

static enum err read_lines(struct import *im, struct line_reader *reader, int file, int64_t done_before,
                           int64_t total)
{
    enum line_kind kind = LINE_TEXT;
    struct str line;
    enum err err = OK;
    while (!err && kind != LINE_NONE) {
        err = line_reader_next(reader, &kind, &line);
        if (err)
            return fail(im, err, "%s: %s", im->options->files[file], strerror(errno));
        const uint64_t place = input_line_make(file, reader->number);
        if (kind == LINE_TEXT) {
            err = take_line(im, place, line);
        } else if (kind == LINE_TOO_LONG) {
            im->summary->lines++;
            report_bad_line(im, place, STR("the line is longer than 1 MiB"));
        }
        if (reader->number % PROGRESS_LINES == 0) {
            show(im, IMPORT_STAGING, done_before + reader->bytes_read, total);
            err = err ? err : take_turn(im);
        }
    }
    return err;
}

static bool is_stdin(const char *name)
{
    return strcmp(name, "-") == 0;
}

/* Bytes of all the files; 0 when that cannot be told before they are read. */
static int64_t input_bytes(const struct import *im)
{
    int64_t total = 0;
    for (int i = 0; i < im->options->file_count; i++) {
        struct stat st;
        const char *name = im->options->files[i];
        int fd = im->options->fds ? im->options->fds[i] : is_stdin(name) ? STDIN_FILENO : -1;
        if ((fd >= 0 ? fstat(fd, &st) : stat(name, &st)) != 0 || !S_ISREG(st.st_mode))
            return 0;
        total += st.st_size;
    }
    return total;
}

static int open_file(const struct import *im, int file)
{
    const char *name = im->options->files[file];
    if (im->options->fds)
        return im->options->fds[file];
    return is_stdin(name) ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
}

static void close_file(const struct import *im, int fd)
{
    if (!im->options->fds && fd != STDIN_FILENO)
        (void)close(fd);
}

static enum err read_file(struct import *im, struct line_reader *reader, int file, int64_t *done,
                          int64_t total)
{
    const char *name = im->options->files[file];
    int fd = open_file(im, file);
    if (fd < 0)
        return fail(im, ERR_IO, "%s: %s", name, strerror(errno));
    line_reader_open(reader, fd);
    enum err err = read_lines(im, reader, file, *done, total);
    *done += reader->bytes_read;
    close_file(im, fd);
    return err;
}

static enum err read_inputs(struct import *im)
{
    struct line_reader reader;
    const int64_t total = input_bytes(im);
    int64_t done = 0;
    enum err err = OK;
    line_reader_init(&reader);
    for (int i = 0; i < im->options->file_count && !err; i++)
        err = read_file(im, &reader, i, &done, total);
    line_reader_fini(&reader);
    return err;
}

/* --- authors, books, videos ------------------------------------------------------------------------------
 */

static enum err apply_line(struct import *im, struct upserts *upserts, uint64_t place, struct str line)
{
    struct record record;
    struct str why;
    CHECK(record_parse(im->parser, line, &record, &why)); /* it was good when it was read */
    enum err err = upserts_apply(upserts, &record, &why);
    if (err)
        return store_failed(im, err);
    if (why.p)
        report_bad_line(im, place, why);
    im->rows++;
    return OK;
}

static enum err apply_some_lines(struct import *im, struct upserts *upserts, struct staging_reader *reader,
                                 bool *has)
{
    uint64_t place;
    struct str line;
    enum err err = begin(im);
    if (err)
        return err;
    upserts_begin(upserts);
    while (!err && *has && !is_long_enough(im)) {
        err = staging_next_line(reader, &place, &line, has);
        if (err)
            err = temp_failed(im, err);
        else if (*has)
            err = apply_line(im, upserts, place, line);
    }
    return end(im, err);
}

static enum err apply_kind(struct import *im, struct upserts *upserts, enum record_kind kind, int64_t *done,
                           int64_t total)
{
    struct staging_reader reader;
    bool has = im->staging.counts[kind] > 0;
    enum err err = staging_reader_open(&reader, &im->staging, kind);
    if (err)
        err = temp_failed(im, err);
    while (!err && has) {
        err = apply_some_lines(im, upserts, &reader, &has);
        *done += im->rows;
        show(im, IMPORT_ENTITIES, *done, total);
    }
    staging_reader_close(&reader);
    return err;
}

static enum err apply_entities(struct import *im)
{
    struct upserts upserts;
    const int64_t *counts = im->staging.counts;
    const int64_t total = counts[RECORD_AUTHOR] + counts[RECORD_BOOK] + counts[RECORD_VIDEO];
    int64_t done = 0;
    enum err err = OK;
    upserts_init(&upserts, im->store, &im->options->rules, im->now);
    for (int k = RECORD_AUTHOR; k <= RECORD_VIDEO && !err; k++)
        err = apply_kind(im, &upserts, (enum record_kind)k, &done, total);
    memcpy(im->summary->upserts, upserts.counts, sizeof upserts.counts);
    upserts_fini(&upserts);
    return err;
}

/* --- finding the videos and sorting ----------------------------------------------------------------------
 */

static enum err sort_reading(struct import *im, struct post_cache *cache, const struct staged_reading *r)
{
    struct cached_post post;
    bool found;
    const enum platform platform = (enum platform)r->platform;
    enum err err = post_cache_find(cache, platform, str_make(r->post_id, r->post_id_len), &post, &found);
    if (err)
        return store_failed(im, err);
    if (!found) {
        im->summary->refused[REJECTION_UNKNOWN_POST]++;
        tell_reading(im, platform, REJECTION_UNKNOWN_POST);
        report(im, r->place, rejection_text(REJECTION_UNKNOWN_POST));
        return OK;
    }
    struct sort_record record = {
        .observed_at = r->observed_at,
        .author = post.author,
        .sequence = r->place,
        .video_row = post.video_row,
        .platform = r->platform,
        .baseline = r->baseline,
    };
    memcpy(record.counts, r->counts, sizeof record.counts);
    err = sorter_add(im->sorter, &record);
    return err ? temp_failed(im, err) : OK;
}

static enum err sort_readings(struct import *im)
{
    struct staging_reader reader;
    struct staged_reading r;
    struct post_cache *cache = post_cache_new(im->store);
    const int64_t total = im->staging.counts[RECORD_READING];
    bool has = true;
    int64_t done = 0;
    enum err err = staging_reader_open(&reader, &im->staging, RECORD_READING);
    if (err)
        err = temp_failed(im, err);
    while (!err && has) {
        err = staging_next_reading(&reader, &r, &has);
        if (err)
            err = temp_failed(im, err);
        else if (has)
            err = sort_reading(im, cache, &r);
        if (++done % PROGRESS_LINES == 0) {
            show(im, IMPORT_SORTING, done, total);
            err = err ? err : take_turn(im);
        }
    }
    staging_reader_close(&reader);
    post_cache_free(cache);
    if (!err && (err = sorter_finish(im->sorter)) != OK)
        err = temp_failed(im, err);
    return err;
}

/* --- the steps -------------------------------------------------------------------------------------------
 */

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
        return store_failed(im, err);
    im->rows++;
    tell_reading(im, reading.platform, rejection);
    if (rejection != REJECTION_NONE) {
        im->summary->refused[rejection]++;
        report(im, record->sequence, rejection_text(rejection));
    }
    return OK;
}

/* `*record` is the first reading of the step, and afterwards that of the next. */
static enum err apply_step(struct import *im, struct step *step, struct sort_record *record, bool *has)
{
    const struct uuid author = record->author;
    const int64_t observed_at = record->observed_at;
    enum err err = OK;
    step_begin(step, im->store, observed_at, wall_ms(im));
    while (!err && *has && record->observed_at == observed_at && uuid_eq(&record->author, &author)) {
        err = add_to_step(im, step, record);
        if (!err && (err = sorter_next(im->sorter, record, has)) != OK)
            err = temp_failed(im, err);
    }
    if (!err && (err = step_finish(step, &im->summary->steps)) != OK)
        err = store_failed(im, err);
    im->last = (struct import_position){.observed_at = observed_at, .author = author};
    im->has_last = true;
    return err;
}

/* Steps that an earlier run has applied. */
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
            err = temp_failed(im, err);
        else if (n % PROGRESS_LINES == 0)
            err = take_turn(im);
    }
    if (after) {
        im->last = *after;
        im->has_last = true;
    }
    return err;
}

static enum err apply_some_steps(struct import *im, struct step *step, struct sort_record *record, bool *has)
{
    enum err err = begin(im);
    if (err)
        return err;
    while (!err && *has && !is_long_enough(im))
        err = apply_step(im, step, record, has);
    return end(im, err);
}

static enum err apply_steps(struct import *im)
{
    struct step step;
    struct sort_record record;
    const int64_t total = im->summary->readings - im->summary->refused[REJECTION_UNKNOWN_POST];
    int64_t done = 0;
    bool has;
    enum err err = sorter_next(im->sorter, &record, &has);
    if (err)
        return temp_failed(im, err);
    step_init(&step, &im->options->rules);
    err = skip_steps(im, &record, &has);
    while (!err && has) {
        err = apply_some_steps(im, &step, &record, &has);
        done += im->rows;
        show(im, IMPORT_APPLYING, done, total);
    }
    step_fini(&step);
    return err;
}

/* --- the closing pass ------------------------------------------------------------------------------------
 */

static enum err take_lock(struct import *im)
{
    if (!im->options->lock_path)
        return OK;
    enum err err = import_lock_open(&im->lock, im->options->lock_path);
    if (!err)
        err = import_lock_share(&im->lock);
    return err ? fail(im, err, "%s-import cannot be locked: %s", im->options->lock_path, err_name(err)) : OK;
}

static enum err close_baselines(struct import *im)
{
    struct finalizing_result closed = {0};
    enum err err = OK;
    bool more = im->lock.file.fd < 0 || import_lock_try_exclusive(&im->lock);
    im->summary->finalizing_left = !more;
    while (!err && more) {
        err = begin(im);
        if (err)
            return err;
        err = finalizing_pass(im->store, &im->options->rules, FINALIZING_BATCH_MAX, &closed, &more);
        if (err)
            err = store_failed(im, err);
        err = end(im, err);
        show(im, IMPORT_FINALIZING, closed.videos, 0);
    }
    im->summary->viral_by_baseline = closed.went_viral;
    return err;
}

/* --- all of it -------------------------------------------------------------------------------------------
 */

static enum err run_phases(struct import *im)
{
    enum err err = staging_open(&im->staging, im->options->temp_dir);
    if (err)
        return temp_failed(im, err);
    err = read_inputs(im);
    im->now = wall_ms(im);
    im->summary->readings = im->staging.counts[RECORD_READING];
    if (!err)
        err = take_lock(im);
    if (!err)
        err = im->options->after ? OK : apply_entities(im); /* no step was without them */
    if (!err)
        err = sort_readings(im);
    if (!err)
        err = apply_steps(im);
    return err ? err : close_baselines(im);
}

enum err import_run(struct store *store, const struct import_options *options, struct import_summary *summary)
{
    struct import im = {.options = options, .summary = summary, .store = store, .lock.file.fd = -1};
    memset(summary, 0, sizeof *summary);
    im.scope = options->scope ? *options->scope : transaction_scope_plain(store);
    im.parser = record_parser_new();
    im.sorter = sorter_new(options->temp_dir, options->sort_bytes ? options->sort_bytes : SORT_BYTES);
    enum err err = run_phases(&im);
    import_lock_close(&im.lock);
    sorter_free(im.sorter);
    staging_close(&im.staging);
    record_parser_free(im.parser);
    return err;
}

int64_t import_rejected_readings(const struct import_summary *summary)
{
    int64_t sum = 0;
    for (int i = 0; i < REJECTION_KINDS; i++)
        sum += summary->refused[i];
    return sum;
}

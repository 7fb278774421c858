/* The state of one import, and its batches. A batch is a write transaction of limited size and duration. Only
 * import.c, import_input.c, import_exports.c and import_batch.c include this header. */
#ifndef VT_IMPORT_IMPORT_BATCH_H
#define VT_IMPORT_IMPORT_BATCH_H

#include "import/export_section.h"
#include "import/import.h"
#include "import/sorter.h"
#include "import/staging.h"

struct import_batch {
    int64_t started_us;
    int64_t rows; /* lines or readings applied in this batch */
};

struct import {
    const struct import_options *options;
    struct import_summary *summary;
    struct store *store;
    struct transaction_scope scope;
    struct import_batch batch; /* the open batch, or the last one if none is open */
    struct record_parser *parser;
    struct staging staging;
    struct export_sections sections;
    struct sorter *sorter;
    int64_t now;   /* wall-clock time (or options->now_ms) when staging ended */
    bool has_last; /* a step was applied, and `last` is valid */
    struct import_position last;
};

/* ---- transactions for batches of steps ---- */

/* Begins a batch. */
MUST_USE enum err import_batch_begin(struct import *im);
/* Returns true if the batch has reached its maximum size or duration and should be ended. */
bool import_batch_is_full(const struct import *im);

/* Ends the batch: commits it if `err` is OK, otherwise rolls it back. Returns `err`, or the error of the
 * commit. */
MUST_USE enum err import_batch_end(struct import *im, enum err err);

/* Calls transaction_heartbeat(). Call between batches. */
MUST_USE enum err import_heartbeat(struct import *im);

/* ---- staging (import_input.c) ---- */

/* Reads all files. Stages the valid lines and reports the invalid ones. */
MUST_USE enum err import_stage_input(struct import *im);

/* ---- exports (import_exports.c) ---- */

/* If the line belongs to an export, stages it, sets `*err` and returns true. Otherwise returns false. */
bool import_stage_export_line(struct import *im, uint64_t input_line, struct str line, enum err *err);
/* Rejects the open export, if there is one, because one of its lines is too long. */
void import_break_export(struct import *im);
/* Call at the end of each file: rejects an export that is still open. */
void import_end_file(struct import *im);
/* Applies the exports, each in one transaction of its own. */
MUST_USE enum err import_apply_exports(struct import *im);

/* ---- reporting bad lines, progress and errors ---- */

/* Calls options->on_bad_line() for a line that is not applied, and counts the line in summary->bad_lines. Not
 * for rejected readings, which are counted in summary->rejected. */
void import_report_bad_line(struct import *im, uint64_t line, struct str reason);

/* Calls options->on_progress() if set. */
void import_show_progress(struct import *im, enum import_phase phase, int64_t done, int64_t total);

/* Sets summary->why to the formatted text, unless it is already set. Returns `err`. */
enum err import_fail(struct import *im, enum err err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets summary->why for an error of a temporary file. Returns `err`. */
enum err import_fail_temp(struct import *im, enum err err);
/* Sets summary->why for an error of the database. Returns `err`. */
enum err import_fail_store(struct import *im, enum err err);

#endif

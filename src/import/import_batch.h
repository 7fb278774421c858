/* The state of one import, and its batches: bounded write transactions. For import.c, import_input.c and
 * import_batch.c. */
#ifndef VT_IMPORT_IMPORT_BATCH_H
#define VT_IMPORT_IMPORT_BATCH_H

#include "import/import.h"
#include "import/import_lock.h"
#include "import/sorter.h"
#include "import/staging.h"

struct import_batch {
    int64_t started_us;
    int64_t rows; /* lines or readings applied in it */
};

struct import {
    const struct import_options *options;
    struct import_summary *summary;
    struct store *store;
    struct transaction_scope scope;
    struct import_batch batch; /* the open or last one */
    struct record_parser *parser;
    struct staging staging;
    struct sorter *sorter;
    struct import_lock lock;
    int64_t now;   /* the time after staging */
    bool has_last; /* a step was applied */
    struct import_position last;
};

/* ---- batches ---- */

MUST_USE enum err import_batch_begin(struct import *im);
bool import_batch_is_full(const struct import *im);

/* Commits if `err` is OK, else rolls back. Returns `err` or the error of the commit. */
MUST_USE enum err import_batch_end(struct import *im, enum err err);

/* Between batches; see transaction_heartbeat(). */
MUST_USE enum err import_heartbeat(struct import *im);

/* ---- staging (import_input.c) ---- */

/* Reads all files and stages their valid lines; reports the others. */
MUST_USE enum err import_stage_input(struct import *im);

/* ---- reporting ---- */

/* Reports a line that is not applied; the second one also counts it as a bad line. */
void import_report(struct import *im, uint64_t line, struct str reason);
void import_report_bad_line(struct import *im, uint64_t line, struct str reason);

void import_show_progress(struct import *im, enum import_phase phase, int64_t done, int64_t total);

/* Set summary->why and return `err`. */
enum err import_fail(struct import *im, enum err err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum err import_fail_temp(struct import *im, enum err err);
enum err import_fail_store(struct import *im, enum err err);

#endif

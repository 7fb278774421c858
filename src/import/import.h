/* Imports NDJSON files into the database (decision 9): stages all input, then applies authors, books and
 * videos, then the readings as steps in the order of their times, then finalizes the videos with a new
 * baseline.
 *
 * Memory does not grow with the input; temporary files do (twice 90 bytes per reading). Writes happen in
 * short transactions, so that the server and other imports can write in between. A crash leaves complete
 * steps only; importing the same files again produces the same state and events as an import without a crash.
 */
#ifndef VT_IMPORT_IMPORT_H
#define VT_IMPORT_IMPORT_H

#include "import/finalizing.h"
#include "import/upserts.h"
#include "rules/step.h"
#include "store/transaction_scope.h"

enum import_phase { IMPORT_STAGING, IMPORT_ENTITIES, IMPORT_SORTING, IMPORT_APPLYING, IMPORT_FINALIZING };

struct import_progress {
    enum import_phase phase;
    int64_t done, total; /* bytes while staging, else lines or videos; total 0: unknown */
};

/* Identifies a step. Steps are applied in this order: by time, then by author. */
struct import_position {
    int64_t observed_at;
    struct uuid author;
};

/* What a refresh run does with the progress of an import; NULL members are not called. */
struct import_observer {
    void *ctx;
    /* In each transaction before its commit. `last` is the step applied last, NULL before the first. An error
     * rolls back and ends the import. */
    enum err (*on_commit)(void *ctx, const struct import_position *last);
    /* For each reading, in the transaction that applies it or, for an unknown post, outside of one. */
    void (*on_reading)(void *ctx, enum platform platform, enum rejection rejection);
};

struct import_options {
    const char *const *files; /* "-": standard input */
    const int *fds;           /* NULL, or open files to read; `files` are then names for messages */
    int file_count;
    const char *temp_dir;
    const char *lock_path; /* the database; NULL: no other process uses it (dry run) */
    struct step_rules rules;
    size_t sort_bytes;                     /* memory for sorting; 0: the default */
    int64_t now_ms;                        /* TIME_NONE: the clock */
    const struct import_position *after;   /* the last step that an earlier import applied; NULL: none */
    const struct transaction_scope *scope; /* NULL: plain transactions on the store given to import_run() */
    struct import_observer observer;
    void *ctx;
    /* Called for each line that is not applied, in the order of detection. */
    void (*on_bad_line)(void *ctx, const char *file, int64_t line, struct str reason);
    /* May be NULL. Called every few milliseconds. */
    void (*on_progress)(void *ctx, const struct import_progress *progress);
};

struct import_summary {
    int64_t lines;                               /* except blank lines */
    int64_t bad_lines;                           /* invalid, or rejected as author, book or video */
    struct upsert_counts upserts[RECORD_KINDS];  /* of authors, books and videos */
    int64_t readings, rejected[REJECTION_KINDS]; /* valid lines; rejected ones by reason */
    struct step_result steps;
    int64_t viral_by_baseline; /* set while finalizing */
    bool finalizing_left;      /* another running import will finalize the remaining videos */
    char why[256];             /* the reason of a failure, for the operator */
};

/* Runs the import on an open STORE_WRITE connection. After an error, committed steps stay and `summary->why`
 * is the reason. */
MUST_USE enum err import_run(struct store *store, const struct import_options *options,
                             struct import_summary *summary);

/* The number of rejected readings. */
int64_t import_rejected_readings(const struct import_summary *summary);

#endif

/* The import of decision 9: NDJSON files into the database. Reads all input first, then applies authors,
 * books and videos, then the readings as steps in the order of their times, then the closing pass.
 *
 * Memory does not grow with the input; temporary files do (about 90 bytes for each reading, twice). The
 * database is written in short transactions, so the server's writes and other imports get their turn. A crash
 * at any instant leaves whole steps; importing the same files again then ends in the same state as if there
 * had been no crash, without an event lost or written twice. */
#ifndef VT_IMPORT_IMPORT_H
#define VT_IMPORT_IMPORT_H

#include "import/finalizing.h"
#include "import/upserts.h"
#include "rules/step.h"
#include "store/transaction_scope.h"

enum import_phase { IMPORT_STAGING, IMPORT_ENTITIES, IMPORT_SORTING, IMPORT_APPLYING, IMPORT_FINALIZING };

struct import_progress {
    enum import_phase phase;
    int64_t done, total; /* bytes while reading, else lines or videos; total 0: not known */
};

/* A step by what identifies it. Steps are applied in the order of positions: by time, then by author. */
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
    const int *fds;           /* NULL, or open files to read instead: `files` are then only names */
    int file_count;
    const char *temp_dir;
    const char *lock_path; /* of the database; NULL: it is this import's alone, as in a dry run */
    struct step_rules rules;
    size_t sort_bytes; /* memory for sorting; 0: a good default */
    int64_t now_ms;    /* TIME_NONE: the clock */
    const struct import_position
        *after; /* NULL: all; else the steps up to and with this one are there already */
    const struct transaction_scope *scope; /* NULL: plain transactions on the store given to import_run() */
    struct import_observer observer;
    void *ctx;
    /* A line that was not applied, with the reason; in the order in which it is found out. */
    void (*on_bad_line)(void *ctx, const char *file, int64_t line, struct str reason);
    /* May be NULL. Called every few milliseconds. */
    void (*on_progress)(void *ctx, const struct import_progress *progress);
};

struct import_summary {
    int64_t lines;                              /* without blank ones */
    int64_t bad_lines;                          /* refused when they were read or as author, book or video */
    struct upsert_counts upserts[RECORD_KINDS]; /* of authors, books and videos */
    int64_t readings, refused[REJECTION_KINDS]; /* well-formed readings; those that were refused, by reason */
    struct step_result steps;
    int64_t viral_by_baseline; /* found by the closing pass */
    bool finalizing_left;      /* to another import, which is still at work */
    char why[256];             /* of a failure: a sentence for the operator */
};

/* Runs the whole import on an open STORE_WRITE connection. An error means that the import stopped; what was
 * committed before stays, `summary->why` says what happened. */
MUST_USE enum err import_run(struct store *store, const struct import_options *options,
                             struct import_summary *summary);

/* How many readings were refused, for whatever reason. */
int64_t import_rejected_readings(const struct import_summary *summary);

#endif

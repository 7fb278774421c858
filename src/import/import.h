/* Imports NDJSON files into the database (the format is in docs/data-in.md). An import first stages all input
 * in temporary files. The import then applies authors, books and videos; then the readings as steps in the
 * order of their times; and finally finalizes the videos with a new baseline. A step is the readings of one
 * author at one time.
 *
 * Memory does not grow with the input, but temporary files do (about 90 bytes per reading for staging, and
 * about 100 for sorting). Writes happen in short transactions, so that the server and other imports can write
 * in between; only an export (export_apply.h) is one transaction, whatever its size. After a crash the
 * database contains only complete steps. Importing the same files again then results in the same state and
 * events as an import without a crash. */
#ifndef VT_IMPORT_IMPORT_H
#define VT_IMPORT_IMPORT_H

#include "import/finalizing.h"
#include "import/upserts.h"
#include "rules/step.h"
#include "store/transaction_scope.h"

enum import_phase { IMPORT_STAGING, IMPORT_ENTITIES, IMPORT_SORTING, IMPORT_APPLYING, IMPORT_FINALIZING };

struct import_progress {
    enum import_phase phase;
    int64_t done, total; /* number of bytes while staging, of videos while finalizing, otherwise of lines;
                            `total` is 0 if unknown */
};

/* Identifies a step. Steps are applied in the order of time, then of author. */
struct import_position {
    int64_t observed_at;
    struct uuid author;
};

/* Callbacks by which a refresh run observes an import. Each may be NULL. */
struct import_observer {
    void *ctx;
    /* Called in each transaction before its commit. `last` is the step applied last, or NULL if none was
     * applied yet. If the callback returns an error, the transaction is rolled back and the import ends with
     * this error. */
    enum err (*on_commit)(void *ctx, const struct import_position *last);
    /* Called for each reading of a known post, in the transaction that applies it. */
    void (*on_reading)(void *ctx, enum platform platform, enum rejection rejection);
};

struct import_options {
    const char *const *files; /* paths; "-" is standard input */
    const int *fds; /* if not NULL: descriptors of the files, which are already open; in this case, `files` is
                       used only in messages */
    int file_count;
    const char *temp_dir;
    bool is_private; /* no other process uses the database: the import lock is not needed (dry run) */
    struct step_rules rules;
    enum unknown_fields unknown_fields;
    bool accepts_exports; /* the files may contain exports (author_export.h), which are rejected otherwise */
    bool allows_erased;   /* an export may contain an author that was erased */
    bool new_event_ids;   /* the events of exports get new ids */
    bool accepts_older; /* a reading that is older than the newest reading of the post is counted as rejected,
                           but not reported */
    size_t sort_bytes;  /* memory for sorting, in bytes; 0 for the default */
    int64_t now_ms;     /* present time (wall clock); TIME_NONE to read the clock */
    struct actor by;    /* the actor for the audit log */
    const struct import_position
        *after; /* the last step that an earlier import of the files applied; may be NULL */
    const struct transaction_scope
        *scope; /* NULL for plain transactions on the store passed to import_run() */
    struct import_observer observer;
    void *ctx;
    /* Called for each rejected line, in the order in which errors are detected. For a rejected export, called
     * for one line. Not called for the readings that `accepts_older` excepts. */
    void (*on_bad_line)(void *ctx, const char *file, int64_t line, struct str reason);
    /* May be NULL. Called after each transaction; while no short transactions run, after every 1,000 lines.
     */
    void (*on_progress)(void *ctx, const struct import_progress *progress);
};

struct import_summary {
    int64_t lines;     /* number of lines, without blank lines outside of exports */
    int64_t bad_lines; /* number of lines that are invalid, or rejected as author, book, video or part of an
                          export */
    struct upsert_counts upserts[RECORD_KINDS]; /* for authors, books and videos */
    int64_t readings,
        rejected[REJECTION_KINDS]; /* `readings`: valid lines; `rejected`: rejected readings by reason */
    int64_t unknown_posts[PLATFORM_COUNT]; /* readings of posts that were unknown before the steps */
    struct step_result steps;
    int64_t unknown_field_lines; /* accepted lines with an unknown field */
    uint64_t first_unknown_line; /* the first of these lines (an input line of import/staging.h), and its
                                    unknown field */
    char first_unknown_field[400];
    int64_t exports, rejected_exports; /* number of exports that were imported or rejected */
    int64_t finalized_viral;           /* number of videos that finalizing has found viral */
    bool finalizing_left;              /* another import is running and will finalize the remaining videos */
    char why[256];                     /* the cause of a failure, for the operator */
};

/* Runs an import on an open STORE_WRITE connection. On an error, the steps committed so far remain and
 * `summary->why` is the cause. */
MUST_USE enum err import_run(struct store *store, const struct import_options *options,
                             struct import_summary *summary);

/* Returns the number of rejected readings, for all reasons together. Includes the readings that
 * options.accepts_older does not report. */
int64_t import_rejected_readings(const struct import_summary *summary);

#endif

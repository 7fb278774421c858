/* A run of the refresh as its sources see it: one thread, one STORE_WRITE connection, one instant. Everything
 * is written in bounded transactions, each of which takes its turn with the server's other writes and checks
 * that the run still holds the lease.
 *
 * ERR_CANCELED from any of these means: stop now. The server was told to stop, or the lease went to another
 * process while this one slept. Nothing of the open transaction was kept. */
#ifndef VT_REFRESH_RUN_H
#define VT_REFRESH_RUN_H

#include "platforms/platform.h"
#include "import/import.h"
#include "refresh/source.h"
#include "rules/step.h"
#include "store/transaction_scope.h"

struct run;

const struct config *run_config(const struct run *run);
const struct step_rules *run_rules(const struct run *run);

/* For reads at any time, and writes between run_begin() and run_commit(). */
struct store *run_store(struct run *run);

/* The run's instant, ms: the observed_at of what it asks for itself. */
int64_t run_observed_at(const struct run *run);

/* Keeps the lease while nothing is written. To be called outside of transactions whenever some time has
 * passed (a file being read, an answer being waited for), at least every second; costs next to nothing. */
MUST_USE enum err run_heartbeat(struct run *run);

/* One transaction: short (some 2,000 rows or 200 ms), never open while anything else than the database is
 * waited for. After an error of run_begin() or run_commit() none is open; after any other error call
 * run_rollback(). Errors of the database have been told to run_fail() already. */
MUST_USE enum err run_begin(struct run *run);
MUST_USE enum err run_commit(struct run *run);
void run_rollback(struct run *run);

/* The functions above as a scope, for an import. */
struct transaction_scope run_transactions(struct run *run);

/* Transactions that begin and commit even if the run must stop or has lost its lease: for new tokens, because
 * the platform has already revoked the old ones. */
struct transaction_scope run_unleased_transactions(struct run *run);

/* Says why the source stops; returns err. The first sentence is kept. */
enum err run_fail(struct run *run, enum err err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for an error of the database. */
enum err run_fail_database(struct run *run, enum err err);

/* ---- what is counted, for each source and platform ---- */

enum run_counter {
    RUN_VIDEOS,   /* changed by a step */
    RUN_ACCEPTED, /* readings */
    RUN_VIRAL_EVENTS,
    RUN_MILESTONE_EVENTS,
    RUN_BAD_LINES, /* other than refused readings */
    RUN_REFUSED,   /* RUN_REFUSED + enum rejection: readings, by reason */

    /* Of the platforms. Posts that were to be asked for: how each of them ended, */
    RUN_READ = RUN_REFUSED + REJECTION_KINDS, /* with counts */
    RUN_NO_DATA,                              /* known to the platform, no numbers yet */
    RUN_MISSING,                              /* left out by the platform */
    RUN_PERMANENT,                            /* will never have numbers */
    RUN_UNANSWERED,                           /* not asked for, or in vain */
    RUN_PUT_OFF,                              /* and those whose turn it is in a later run */
    RUN_CALLS,                                /* that were sent */
    RUN_RETRIES,                              /* those of them that repeat one that failed */
    RUN_TOKENS,                               /* refreshed */
    RUN_OUTCOME,                              /* RUN_OUTCOME + enum outcome_kind: how calls ended */
};
enum { RUN_COUNTERS = RUN_OUTCOME + OUTCOME_KINDS };
enum { RUN_NO_PLATFORM = -1 }; /* videos and events are of all platforms of a video */

/* The name in the database and in what commands print: "accepted", "refused:stale". Static. */
const char *run_counter_name(enum run_counter counter);

/* Adds to the running source's counters. Between run_begin() and run_commit() it counts only if the
 * transaction is committed. run_queue_step() and run_import_file() count by themselves. */
void run_count(struct run *run, int platform, enum run_counter counter, int64_t n);

/* ---- way one: readings of posts that are known, author by author ---- */

/* One step: all readings of one author that were observed at that instant, the posts each at most once.
 * Copied, gathered, and applied together with others in one transaction, at the latest by run_flush(). */
MUST_USE enum err run_queue_step(struct run *run, int64_t observed_at, const struct reading *readings,
                                 size_t count);

/* Applies what was gathered. Once at the end of a source that uses run_queue_step(). */
MUST_USE enum err run_flush(struct run *run);

/* ---- way two: a file in the import format, authors, books, videos and readings ---- */

struct run_file {
    const char *path; /* for messages, */
    int fd;           /* this is what is read, from where it stands */
    const struct import_position
        *after; /* NULL: all of it; else steps up to and with this one are there already */
    void *ctx;
    /* A line that was not applied, in the order in which it is found out. */
    void (*on_bad_line)(void *ctx, int64_t line, struct str reason);
    /* May be NULL. In each transaction before it is committed, to write down how far the file was applied:
     * `last` is the step that was applied last; NULL: no step yet (authors, books, videos; the closing pass
     * comes with the last step again). An error rolls back and ends the import. */
    enum err (*on_commit)(void *ctx, struct store *store, const struct import_position *last);
};

/* ERR_CANCELED, or an error that run_fail() was told (ERR_NOT_FOUND, ERR_IO: the file cannot be read).
 * `*summary` says what was done, also after an error. */
MUST_USE enum err run_import_file(struct run *run, const struct run_file *file,
                                  struct import_summary *summary);

#endif

/* A run of the refresh as its sources see it: one thread, one STORE_WRITE connection, one timestamp. All
 * writes happen in short transactions. Each waits its turn among the server's other writes and verifies that
 * the run still holds the lease.
 *
 * ERR_CANCELED from any of these functions: return at once and write nothing more. The process is stopping,
 * or another process has taken over the lease; the open transaction was rolled back. */
#ifndef VT_REFRESH_RUN_H
#define VT_REFRESH_RUN_H

#include "import/import.h"
#include "refresh/run_counters.h"
#include "refresh/source.h"
#include "store/transaction_scope.h"

struct run;

const struct config *run_config(const struct run *run);
const struct step_rules *run_rules(const struct run *run);

/* For reads at any time, and for writes between run_begin() and run_commit(). */
struct store *run_store(struct run *run);

/* The timestamp of readings that the source takes itself, ms. */
int64_t run_observed_at(const struct run *run);

/* Renews the lease while nothing is written. Call it at least every second outside of transactions, for
 * example while reading a file or waiting for a response. Cheap unless the lease is due for renewal. */
MUST_USE enum err run_heartbeat(struct run *run);

/* ---- transactions ---- */

/* Keep transactions short (about 2,000 rows or 200 ms) and wait for nothing but the database in them. If
 * run_begin() or run_commit() fails, no transaction is open and run_fail() has been called; after any other
 * error call run_rollback(). */
MUST_USE enum err run_begin(struct run *run);
MUST_USE enum err run_commit(struct run *run);
void run_rollback(struct run *run);

/* The functions above as a scope, for an import. */
struct transaction_scope run_transactions(struct run *run);

/* Transactions that begin and commit even if the run must stop or has lost its lease: for new tokens, because
 * the platform has already revoked the old ones. */
struct transaction_scope run_unleased_transactions(struct run *run);

/* ---- errors and counters ---- */

/* Records why the source fails, unless `err` is ERR_CANCELED; later texts do not replace the first. Returns
 * err. */
enum err run_fail(struct run *run, enum err err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for an error of the database. */
enum err run_fail_database(struct run *run, enum err err);

/* Adds to the counters of the running source; in a transaction, only if it commits. run_queue_step() and
 * run_import_file() count by themselves. `platform`: or RUN_NO_PLATFORM. */
void run_count(struct run *run, int platform, enum run_counter counter, int64_t n);

/* ---- readings of known posts, author by author ---- */

/* Queues one step: the readings of one author at one time, at most one per post. Copies the readings. Applies
 * the queued steps in common transactions if there are many; otherwise run_flush() does. */
MUST_USE enum err run_queue_step(struct run *run, int64_t observed_at, const struct reading *readings,
                                 size_t count);

/* Applies the queued steps. Call it once at the end of a source that uses run_queue_step(). */
MUST_USE enum err run_flush(struct run *run);

/* ---- files in the import format ---- */

struct run_file {
    const char *path;                    /* for messages */
    int fd;                              /* read from its current offset */
    const struct import_position *after; /* the last step that is already applied; NULL: none */
    void *ctx;
    /* Called for each line that was not applied, in the order of detection. */
    void (*on_bad_line)(void *ctx, int64_t line, struct str reason);
    /* Called in each transaction before its commit, to store how much of the file was applied; may be NULL.
     * `last`: the step applied last; NULL if none was applied yet (authors, books, videos). Finalizing
     * repeats the last step. An error rolls back and ends the import. */
    enum err (*on_commit)(void *ctx, struct store *store, const struct import_position *last);
};

/* Imports the file. On error other than ERR_CANCELED, run_fail() has been called; ERR_NOT_FOUND and ERR_IO:
 * the file cannot be read. `*summary` is set in any case. */
MUST_USE enum err run_import_file(struct run *run, const struct run_file *file,
                                  struct import_summary *summary);

#endif

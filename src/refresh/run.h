/* The functions of a run that its sources call. A run has one thread, one STORE_WRITE connection and one
 * timestamp. All writes happen in short transactions. Each transaction waits for the process's write lock
 * and, except those of run_unleased_transactions(), verifies that the run still holds the lease.
 *
 * If one of these functions returns ERR_CANCELED, return at once and write nothing more: the process is
 * stopping, or another process has acquired the lease. The open transaction has been rolled back. */
#ifndef VT_REFRESH_RUN_H
#define VT_REFRESH_RUN_H

#include "import/import.h"
#include "refresh/run_counters.h"
#include "refresh/source.h"
#include "store/transaction_scope.h"

struct run;

const struct config *run_config(const struct run *run);
const struct step_rules *run_rules(const struct run *run);

/* Returns the run's database connection. Read from it at any time; write only between run_begin() and
 * run_commit(). */
struct store *run_store(struct run *run);

/* Returns the timestamp in ms for readings that the source creates during the run. */
int64_t run_observed_at(const struct run *run);

/* Renews the lease if due. Call it at least every second while no transaction is open, for example while
 * reading a file or waiting for a response. The call is cheap unless the lease is due for renewal. */
MUST_USE enum err run_heartbeat(struct run *run);

/* ---- transactions ---- */

/* Begins, commits and rolls back a transaction. Keep transactions short (about 2,000 rows or 200 ms), and do
 * not wait for anything but the database in them. If run_begin() or run_commit() fails, no transaction is
 * open and, unless the error is ERR_CANCELED, run_fail() has been called. After any other error in a
 * transaction, call run_rollback(). */
MUST_USE enum err run_begin(struct run *run);
MUST_USE enum err run_commit(struct run *run);
void run_rollback(struct run *run);

/* Runs `work` in one transaction, and again after a deadlock, see transaction_run_repeatable(). If it fails,
 * run_fail() has been called, unless the error is ERR_CANCELED. */
MUST_USE enum err run_transact(struct run *run, transaction_work *work, void *ctx);

/* Returns run_begin(), run_commit() and run_rollback() as a scope (store/transaction_scope.h). */
struct transaction_scope run_transactions(struct run *run);

/* Returns a scope whose transactions begin and commit even if the run is stopping or has lost its lease. Use
 * it to store new tokens, because the platform has already revoked the old ones. */
struct transaction_scope run_unleased_transactions(struct run *run);

/* ---- errors and counters ---- */

/* Records why the source fails. Only the first text of a run is recorded, and none for ERR_CANCELED. Returns
 * `err`. */
enum err run_fail(struct run *run, enum err err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Calls run_fail() with the text of a database error. Returns `err`. */
enum err run_fail_database(struct run *run, enum err err);

/* Adds `n` to a counter of the running source. In a transaction, the addition takes effect only if the
 * transaction commits. run_queue_step() and run_import_file() call this function themselves. `platform` may
 * be RUN_NO_PLATFORM. */
void run_count(struct run *run, int platform, enum run_counter counter, int64_t n);

/* ---- readings of known posts, one author at a time ---- */

/* Queues one step: the readings of one author at one time, at most one per post. Copies the readings. If many
 * readings are queued, calls run_flush(). */
MUST_USE enum err run_queue_step(struct run *run, int64_t observed_at, const struct reading *readings,
                                 size_t count);

/* Applies the queued steps. Several steps share a transaction, but a new transaction begins after 200 ms, so
 * that other writers need not wait long. A source that uses run_queue_step() must call run_flush() before it
 * ends. */
MUST_USE enum err run_flush(struct run *run);

/* ---- files in the import format ---- */

struct run_file {
    const char *path;                    /* for messages */
    int fd;                              /* open; read from its current offset */
    const struct import_position *after; /* the last step that was already applied; may be NULL */
    void *ctx;
    /* Called for each line that is not applied, in the order in which errors are detected. */
    void (*on_bad_line)(void *ctx, int64_t line, struct str reason);
    /* May be NULL. Called in each transaction before its commit, to store how much of the file was applied.
     * `last` is the step applied last; it is NULL while only authors, books and videos have been applied.
     * During finalizing, `last` does not change. If on_commit() returns an error, the transaction is rolled
     * back and the import ends. */
    enum err (*on_commit)(void *ctx, struct store *store, const struct import_position *last);
};

/* Imports the file. Sets `*summary`, even on an error. Returns ERR_IO if the file cannot be read. On an error
 * other than ERR_CANCELED, run_fail() has been called. */
MUST_USE enum err run_import_file(struct run *run, const struct run_file *file,
                                  struct import_summary *summary);

/* Counts the lines that belong to no step: bad lines, lines with unknown fields, and readings of unknown
 * posts. run_import_file() does not, because it reads all lines again after an interruption. Call in the
 * transaction that marks the file as applied. */
void run_count_file(struct run *run, const struct import_summary *summary);

#endif

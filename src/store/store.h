/* The store: opening and closing it, and maintenance. Nothing outside src/store depends on SQL or on the
 * storage engine:
 *
 *   store.h   opening, closing, state, maintenance (this file)
 *   read.h    reads of request handlers: short, on the loop thread, one snapshot each
 *   write.h   write transactions: in a job of the writer queue, a refresh run, or a CLI command
 *   writer.h  the queue of write jobs
 *
 * A `struct store` is one connection with its prepared statements. One thread uses it at a time. The server
 * has one connection for reads on the loop thread and one for the writer queue; a CLI command has one. */
#ifndef VT_STORE_STORE_H
#define VT_STORE_STORE_H

#include "base/error.h"
#include "base/metrics.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

enum store_mode {
    STORE_READ,  /* read-only; does not wait for locks once it is open */
    STORE_WRITE, /* waits up to busy_timeout_ms for another writer */
};

struct store_options {
    const char *path;
    enum store_mode mode;
    int busy_timeout_ms; /* for STORE_WRITE, and for opening in either mode (0: ten seconds) */
    bool checkpointed; /* jobs make the checkpoints (checkpoint.h); a commit only if the log gets very long */
};

/* Opens a database that has this binary's schema version. ERR_NOT_FOUND: no such file. ERR_VERSION: run
 * store_migrate() first, or the database is newer. A commit is on disk before another connection can see it.
 */
MUST_USE enum err store_open(struct store **out, const struct store_options *options, struct error *error);
void store_close(struct store *s);

/* Applies the pending migrations, each in its own transaction; several processes may do so at the same time.
 * `*count` receives the number of migrations applied. Never creates a database: a missing file is
 * ERR_NOT_FOUND and an empty one ERR_VERSION, because either may mean an unmounted volume or a truncated
 * copy. ERR_VERSION also if the database is newer than this binary. */
MUST_USE enum err store_migrate(const char *path, int *count, struct error *error);

/* Like store_migrate(), but a missing or empty file becomes a new database. ERR_NOT_FOUND if the directory
 * does not exist, or if a restore was interrupted: a new database would hide the old one. */
MUST_USE enum err store_create(const char *path, int *count, struct error *error);

/* A version of the database, never 0. If two calls on a connection return the same number, no connection of
 * any process has committed in between. To cache a result, get the version before the read. Takes
 * nanoseconds. */
uint64_t store_version(struct store *s);

/* 16 random bytes that identify this database. A database restored from its backup has other ones. */
const uint8_t *store_id(const struct store *s);

/* Durations of the reads of read.h on this connection. */
const struct metrics_times *store_read_times(const struct store *s);

/* Pages in the write-ahead log, and those of them that are not checkpointed yet. */
struct store_log {
    int64_t pages, pending;
};
struct store_log store_log_state(const struct store *s);

/* Number of database failures on this connection. Results such as ERR_NOT_FOUND or ERR_EXISTS are no
 * failures. */
uint64_t store_failures(const struct store *s);

enum checkpoint_mode {
    CHECKPOINT_PASSIVE, /* as far as readers allow, without blocking writers */
    CHECKPOINT_RESTART, /* everything, blocking writers; the next writer starts at the beginning of the log */
    CHECKPOINT_TRUNCATE, /* the same, and truncates the log file */
};

/* Copies the write-ahead log into the database (blocks). ERR_BUSY: another connection is doing so, or a
 * reader or writer did not finish in time. */
MUST_USE enum err store_checkpoint(struct store *s, enum checkpoint_mode mode);

/* --- maintenance of a database file --- */

/* Copies a snapshot of the database `path`, which may be in use, over the existing empty file `to`.
 * ERR_VERSION if `path` is empty. The copy has the same store_id(). */
MUST_USE enum err store_copy(const char *path, const char *to, struct error *error);

/* Checks every page of the database. ERR_CORRUPT if it is damaged. */
MUST_USE enum err store_verify(const char *path, struct error *error);

/* Gives a copy its own identity, in one transaction: carries over revocations from the database file
 * `replaced` (carry.h; NULL: none, and `carried` is not used), sets a new store_id(), and continues event ids
 * above `event_floor` and above those of both databases. Leaves no log beside the copy, so that it can be
 * renamed. */
struct carry_result;
MUST_USE enum err store_renew(const char *path, int64_t event_floor, const char *replaced,
                              struct carry_result *carried, struct error *error);

/* Checks that no other connection, of this or another process, has the database open (else ERR_BUSY), and
 * deletes the files beside it. */
MUST_USE enum err store_claim(const char *path, struct error *error);

#endif

/* The store: opening the database, the connections, and what can go wrong with them. Everything about SQL
 * stays behind these headers:
 *
 *   store.h   open, close, backup-free life cycle (this file)
 *   read.h    reads on the loop: short, one snapshot each
 *   write.h   write transactions: one at a time, in a job of the writer queue or in a CLI command
 *   writer.h  the serial queue of write jobs
 *
 * A `struct store` is one connection with all its statements prepared. A connection belongs to one thread at
 * a time. The server has one for reads on the loop (busy time-out 0) and the writer queue has its own; a CLI
 * command has one. */
#ifndef VT_STORE_STORE_H
#define VT_STORE_STORE_H

#include "base/error.h"
#include "base/metrics.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

enum store_mode {
    STORE_READ,  /* query_only; once it is open it never waits for a lock */
    STORE_WRITE, /* waits up to busy_timeout_ms for another writer */
};

struct store_options {
    const char *path;
    enum store_mode mode;
    int busy_timeout_ms; /* of STORE_WRITE, and of opening in either mode (0: ten seconds) */
    bool checkpointed;   /* jobs make the checkpoints (checkpoint.h); a commit only when they fail to */
};

/* Opens the database file, which must have been migrated to this binary's schema (store_migrate; else
 * ERR_VERSION, ERR_NOT_FOUND when there is no file), sets WAL mode and synchronous=FULL (a commit is on disk
 * before anyone can read it), and prepares every statement. On failure `*why` is a sentence for the operator
 * (static or owned by nobody: valid until the next call from this thread). */
MUST_USE enum err store_open(struct store **out, const struct store_options *options, struct error *error);
void store_close(struct store *s);

/* Applies the migrations that are not yet applied, each in its own transaction; several processes may do it
 * at once. `*applied` receives their number. Never creates a database: a missing file is ERR_NOT_FOUND and an
 * empty one ERR_VERSION, because either may be a volume that is not mounted or a copy that was cut off.
 * ERR_VERSION also if the database is newer than this binary. `*why` as of store_open(). */
MUST_USE enum err store_migrate(const char *path, int *applied, struct error *error);

/* As store_migrate(), but a missing or empty file becomes a new database. ERR_NOT_FOUND if the directory does
 * not exist, or if a restore was interrupted: the old data must not seem to be gone. */
MUST_USE enum err store_create(const char *path, int *applied, struct error *error);

/* Never 0. Two equal numbers of one connection: nothing was committed in between, by any connection of any
 * process. Who remembers what was read takes the number before the read. Costs some nanoseconds. */
uint64_t store_version(struct store *s);

/* 16 random bytes that are this database's own, also not those of a database restored from its backup. */
const uint8_t *store_id(const struct store *s);

/* How long the reads of read.h took on this connection. */
const struct metrics_times *store_read_times(const struct store *s);

/* The write-ahead log: pages in it, and those of them that the database does not have yet. */
struct store_log {
    int64_t pages, pending;
};
struct store_log store_log_state(const struct store *s);

/* How often the database failed on this connection; an answer such as ERR_NOT_FOUND or ERR_EXISTS is none. */
uint64_t store_failures(const struct store *s);

/* How much a checkpoint does. */
enum log_copy {
    LOG_AS_FAR,  /* as far as readers allow, while writers go on */
    LOG_RESTART, /* all of it, and writers wait; the next one begins the log anew */
    LOG_EMPTY,   /* the same, and the file gives its room back at once, which the next writers pay for */
};

/* Copies the write-ahead log into the database (blocks). ERR_BUSY: somebody is at it, or a reader or writer
 * did not end in time. */
MUST_USE enum err store_checkpoint(struct store *s, enum log_copy how);

/* Copies the database `path`, as it is at one moment with all that was committed, over the file `to`, which
 * must be there (empty). Others may read and write it meanwhile. ERR_VERSION if `path` is empty. The copy has
 * the same store_id(). */
MUST_USE enum err store_copy(const char *path, const char *to, struct error *error);

/* Looks at every page of the database: ERR_CORRUPT with what is wrong, or OK. */
MUST_USE enum err store_verify(const char *path, struct error *error);

/* Makes a copy a database of its own, in one transaction: what was revoked in the database file `replaced` is
 * carried over (carry.h says what, and what is dropped), it gets a new store_id(), and event ids go on above
 * `event_floor` and above those of both databases. `replaced` NULL: nothing is carried over, and `carried` is
 * not used. Leaves no log beside the copy, which can then be renamed. */
struct carry_result;
MUST_USE enum err store_renew(const char *path, int64_t event_floor, const char *replaced,
                              struct carry_result *carried, struct error *error);

/* ERR_BUSY when any other connection, of this or another process, has the database open. Leaves it without
 * side files. */
MUST_USE enum err store_claim(const char *path, struct error *error);

#endif

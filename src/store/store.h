/* The store: opening and closing it, and maintenance. Nothing outside src/store depends on SQL or on the
 * storage engine:
 *
 *   store.h   opening, closing, state, maintenance (this file)
 *   read.h    reads of request handlers: short, on the loop thread, one snapshot each
 *   write.h   write transactions: in a job of the writer queue, a refresh run, or a CLI command
 *   writer.h  the queue of write jobs
 *
 * A `struct store` is one connection with its prepared statements. One thread uses it at a time. The server
 * has one store for reads on the loop thread, one for the writer queue, and one for each background job while
 * it runs (checkpoints, refresh, backup, webhooks, export of an author); a CLI command usually has one. On
 * PostgreSQL, the store for reads has two more connections, its links (pg/pg_links.h). */
#ifndef VT_STORE_STORE_H
#define VT_STORE_STORE_H

#include "base/error.h"
#include "base/metrics.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct store;
struct uv_loop_s;

enum store_mode {
    STORE_READ,  /* read-only; does not wait for locks once it is open */
    STORE_WRITE, /* waits up to busy_timeout_ms for another writer */
};

enum { STORE_CONNECTIONS_MAX = 16 };

/* The strings need to stay valid only until store_open() returns. */
struct store_options {
    const char *path; /* the database file */
    const char *url; /* the URL of a PostgreSQL database (pg/pg_options.h); NULL or empty: the SQLite database
                        at `path` */
    const char *password_file; /* its first line is the password for `url`; NULL or empty: libpq looks it up,
                                  for example in PGPASSFILE */
    struct uv_loop_s *loop; /* only with `url`: the reads of read.h run on this event loop without blocking;
                               NULL: they block, as all other calls always do */
    int hold_ms;            /* with `loop`: how long, in ms, a read may wait while the connection is down */
    /* With `loop`: how many reads may wait while the connection is down. Further reads fail immediately. */
    int held_max;
    int connections; /* with `loop`: number of connections for reads, besides that for keys: 1 to
                        STORE_CONNECTIONS_MAX */
    enum store_mode mode;
    bool opens_incomplete; /* whether to open even a copy that `viewtally move` has not completed (move.h) */
    /* Maximum wait for a lock. While a database file is opened, 0 means ten seconds. Afterwards, 0 means that
     * statements do not wait; in STORE_READ mode they never wait. */
    int busy_timeout_ms;
    /* True if jobs make the checkpoints (checkpoint.h). A commit then makes a checkpoint only if the log
     * exceeds 250 MiB. */
    bool checkpointed;
};

/* Opens a database whose schema this binary can use. Returns ERR_NOT_FOUND if there is no such file. Returns
 * ERR_VERSION if the schema is older (run store_migrate() first) or too new, or if the database is an
 * incomplete copy (move.h). On an error, sets `*out` to NULL. A commit is on disk before another connection
 * can see it. */
MUST_USE enum err store_open(struct store **out, const struct store_options *options, struct error *error);
void store_close(struct store *s);

/* Applies the pending migrations, each in its own transaction. Several processes may do so at the same time.
 * `*count` receives the number of migrations applied. Never creates a database: returns ERR_NOT_FOUND for a
 * missing file and ERR_VERSION for an empty one, because either may mean an unmounted volume or a truncated
 * copy. Also returns ERR_VERSION if the schema is too new for this binary. */
MUST_USE enum err store_migrate(const char *path, int *count, struct error *error);

/* Like store_migrate(), but creates a new database if the file is missing or empty. Returns ERR_NOT_FOUND if
 * the directory does not exist, or if a restore was interrupted. After an interrupted restore, a new database
 * would hide the old database, which the restore has renamed. */
MUST_USE enum err store_create(const char *path, int *count, struct error *error);

/* Logs statements that take at least `ms`, on every connection of this process. Initially 0, which means
 * none. The texts in the log contain no values. */
void store_set_slow_query_ms(int64_t ms);

/* Limits how long calls may wait for a reply of a database server: from `ms` milliseconds after this call on,
 * at most half a second. Call this function when the process is about to exit. Otherwise a database server
 * that does not reply would delay the exit by up to the deadline of each call. */
void store_limit_waits(int ms);

/* Reads the wall clock that all processes that use this database share: the clock of the database server, or
 * of this machine if the database is a file. If a test has set the wall clock, reads that clock. */
MUST_USE enum err store_read_clock(struct store *s, int64_t *now_ms);

/* Returns true if any process may have committed since the previous call with the same `*seen`, which stores
 * the state. Set `*seen` to 0 before the first call, which returns true. Call this function before a read, so
 * that the next call reports a commit during the read. */
bool store_has_changed(struct store *s, uint64_t *seen);

/* Returns the 16 random bytes that identify this database. A database restored from its backup has a
 * different id. */
const uint8_t *store_id(const struct store *s);

/* Returns the durations of the reads of read.h on this connection. */
const struct metrics_duration_histogram *store_get_read_times(const struct store *s);

/* Number of pages in the write-ahead log, and how many of them are not checkpointed yet. */
struct store_log_state {
    int64_t pages, pending;
};
/* Returns the state of the write-ahead log. */
struct store_log_state store_get_log_state(struct store *s);

/* Returns the number of database failures on this connection. Results such as ERR_NOT_FOUND or ERR_EXISTS are
 * not failures. */
uint64_t store_get_failure_count(const struct store *s);

/* The state of the two connections to the database server on which a store runs the reads of its event loop.
 * The numbers are sums; the other members describe the connection that is not up, if there is one. */
struct store_server_status {
    bool is_up;        /* reads are served; otherwise they wait, see store_options.hold_ms */
    const char *state; /* "down", "opening", "up" or "stale" */
    const char
        *reason;   /* why the connection was lost, or why the last attempts to connect have failed; contains
                      no password; may be "". Valid until the next call of a function of the store */
    int held;      /* statements that were not sent yet, because the connection is not up, or because too many
                      are in flight */
    int in_flight; /* statements that wait for a reply */
    int64_t barrier_age_ms; /* time since the server was last known to be the primary; -1: never */
    uint64_t round_trips;   /* batches of reads that were sent */
};
/* Returns false if the store is a database file. Precondition: a store on a server was opened with a loop. */
bool store_get_server_status(const struct store *s, struct store_server_status *out);

/* The load of a database server, as its statistics report it. Rows are counted in all tables of viewtally's
 * schema. */
struct store_server_load {
    int64_t connections, connections_max; /* of all programs */
    int64_t live_rows, dead_rows; /* estimates; dead rows are old versions that no vacuum has removed */
    int64_t updates, hot_updates; /* numbers since the statistics were reset; a HOT update changes no index */
    int64_t standbys;
    int64_t lag_bytes; /* lag of the slowest standby; -1: no standby, or the role is not allowed to read it */
};
/* Reads the load (blocks). Precondition: the store is on a server. */
MUST_USE enum err store_read_server_load(struct store *s, struct store_server_load *out);

enum checkpoint_mode {
    CHECKPOINT_PASSIVE, /* copies as much as readers allow, without blocking writers */
    CHECKPOINT_RESTART, /* copies everything, blocking writers; the next writer starts at the beginning of the
                           log */
    CHECKPOINT_TRUNCATE, /* like CHECKPOINT_RESTART, and truncates the log file */
};

/* Copies the write-ahead log into the database (blocks). Returns ERR_BUSY if another connection is making a
 * checkpoint, or if a reader or writer did not finish in time. */
MUST_USE enum err store_checkpoint(struct store *s, enum checkpoint_mode mode);

/* --- maintenance of a database file --- */

/* Called many times a second during a long operation, on its thread. Returns false to cancel the operation,
 * which then returns ERR_CANCELED. */
struct store_progress {
    bool (*step)(void *ctx);
    void *ctx;
};

/* Copies a snapshot of the database `path`, which may be in use, over the existing empty file `to`. The copy
 * has the same store_id(). Returns ERR_VERSION if `path` is an empty file. */
MUST_USE enum err store_copy(const char *path, const char *to, struct error *error);

/* Like store_copy(), for a backup: the copy is a single file without a write-ahead log, is verified as by
 * store_verify(), and is synced to disk. `progress` may be NULL. */
MUST_USE enum err store_back_up(const char *path, const char *to, const struct store_progress *progress,
                                struct error *error);

/* Checks that the numbers in the database agree: the views of each video with its gains by day, the gains by
 * platform with the gains of the videos, stored counts with the rows that they count, event ids, and
 * references between tables. Returns ERR_CORRUPT and names the first check that fails. The file must have
 * this binary's schema. */
MUST_USE enum err store_check_sums(const char *path, struct error *error);

/* The next two functions change neither the file nor its write-ahead log. */

/* Checks that the file is a viewtally database that this binary can use, at least after a migration. Returns
 * ERR_CORRUPT for the database of another program, and ERR_VERSION for an empty file or a schema that is too
 * new. */
MUST_USE enum err store_check_identity(const char *path, struct error *error);

/* Checks every page of the database. Returns ERR_CORRUPT if it is damaged. `progress` may be NULL. */
MUST_USE enum err store_verify(const char *path, const struct store_progress *progress, struct error *error);

/* Like store_verify(), but does not even delete a write-ahead log that did not exist before the call. If
 * `full` is false, skips the comparison of the indexes with their tables, which takes most of the time. */
MUST_USE enum err store_diagnose(const char *path, bool full, struct error *error);

/* Gives a copy of a database its own identity, in one transaction. Sets a new store_id(), carries over
 * revocations from the database file `replaced` (see carry.h), and makes future event ids higher than
 * `event_floor` and than every event id of either database. If `replaced` is NULL, nothing is carried over
 * and `carried` is not used. Leaves no log beside the copy, so that it can be renamed. */
struct carry_result;
MUST_USE enum err store_renew(const char *path, int64_t event_floor, const char *replaced,
                              struct carry_result *carried, struct error *error);

/* Checks that no other connection, of this or another process, has the database open, and deletes the files
 * that SQLite keeps beside it. Returns ERR_BUSY if another connection has it open. */
MUST_USE enum err store_claim(const char *path, struct error *error);

#endif

/* The SQLite driver: one connection, its prepared statements (store/sql.h), and the translation of SQLite's
 * codes. Only db.c includes sqlite3.h. */
#ifndef VT_STORE_SQLITE_DB_H
#define VT_STORE_SQLITE_DB_H

#include "base/error.h"
#include "store/sql.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/* The header of the WAL index in shared memory (sqlite.org/walformat.html, 2.1): two copies of the fields by
 * which readers notice a commit. These fields include a counter of transactions and a checksum of the last
 * frame. */
enum { DB_WAL_HEAD_WORDS = 2 * 48 / 8 };
/* Positions of two fields in the WAL index, counted in 32-bit words (native byte order): the number of the
 * last committed frame, and the number of the last checkpointed frame. */
enum { DB_WAL_MAX_FRAME = 4, DB_WAL_BACKFILLED = 24 };

struct db {
    struct sql sql;                               /* first, so that a pointer to it can be cast */
    struct sqlite3 *handle;                       /* NULL: closed */
    struct sql_statement statements[QUERY_COUNT]; /* `handle` is a struct sqlite3_stmt */
    int logged_code;                              /* the most recently logged code */
    int64_t logged_at_ms;                         /* monotonic */
    int64_t unlogged; /* how many times logged_code has occurred since logged_at_ms */
    int busy_timeout_ms;
    int64_t busy_since_us; /* start of the current wait for a lock */

    /* for db_get_version() */
    const volatile uint64_t *wal_index; /* header of the WAL index; NULL: not available */
    uint64_t wal_head[DB_WAL_HEAD_WORDS];
    uint64_t version;
};

/* --- the connection --- */

/* Opens an existing file. An empty file is a new database. Does not read the file yet: the first statement
 * detects a file that is not a database. On failure the struct is closed. */
MUST_USE enum err db_open(struct db *db, const char *path);
void db_close(
    struct db *db); /* Closes the connection. Does nothing if it is closed. All statements must be reset. */

/* Prepares every statement of queries.h, except the statements of sql_prepare_rare(). An error means that the
 * schema is not the one that this binary expects. */
MUST_USE enum err db_prepare(struct db *db);

/* Sets the maximum wait for a lock. 0 means not to wait. */
void db_set_busy_timeout(struct db *db, int timeout_ms);

/* Sets the size of the log, in pages, above which a commit makes a checkpoint. */
void db_set_checkpoint_pages(struct db *db, int pages);

/* Makes db_close() keep the write-ahead log. By default, the last connection that closes deletes the log,
 * even if SQLite could not read the log because the database is damaged. */
void db_keep_log(struct db *db);
/* Like db_keep_log(), if there is a write-ahead log. Call before the first statement, which may create one.
 */
void db_keep_existing_log(struct db *db);

/* Returns true if the connection can only read. */
bool db_is_readonly(const struct db *db);
/* Returns true if a transaction is open. */
bool db_in_transaction(const struct db *db);

/* Maps the WAL index for db_get_version() and db_get_log_state(). Call once, after the connection has read
 * from the database. */
void db_map_wal_index(struct db *db);

/* Returns a number, never 0, that changes with every commit of any process. Detects commits in shared memory.
 * If shared memory is not available, every call returns a different number. */
uint64_t db_get_version(struct db *db);

/* Number of pages in the write-ahead log, and how many of them are not checkpointed yet. Both are 0 if shared
 * memory is not available. */
struct db_log {
    int64_t pages, pending;
};
/* Returns the state of the write-ahead log. */
struct db_log db_get_log_state(const struct db *db);

/* Makes a checkpoint as described at store_checkpoint(). ERR_BUSY is not logged. */
MUST_USE enum err db_checkpoint(struct db *db, enum checkpoint_mode mode);

struct store_progress;
/* Overwrites `to` with a snapshot of `from`. Calls `progress`, which may be NULL, every few megabytes.
 * Returns ERR_CANCELED if `progress` returns false. */
MUST_USE enum err db_copy(struct db *from, struct db *to, const struct store_progress *progress);

/* Calls `progress` during the statements that follow, and makes them fail with ERR_CANCELED if it returns
 * false. `progress` must stay valid until the next call, which may pass NULL, or until the connection is
 * closed. */
void db_set_progress(struct db *db, const struct store_progress *progress);

/* --- constant SQL that is not prepared --- */

/* Runs the statements of a constant text. */
MUST_USE enum err db_exec(struct db *db, const char *sql);
/* Runs one statement without a result. `*changes` receives the number of rows that it changed. */
MUST_USE enum err db_exec_changes(struct db *db, const char *sql, int64_t *changes);
/* Runs one statement without a result that has one parameter. */
MUST_USE enum err db_exec_with_i64(struct db *db, const char *sql, int64_t value);
/* Runs one statement that returns one integer. */
MUST_USE enum err db_exec_i64(struct db *db, const char *sql, int64_t *out);
/* Runs one statement that returns one text. `*same` receives whether the text equals `expected`. */
MUST_USE enum err db_exec_text(struct db *db, const char *sql, const char *expected, bool *same);
/* Attaches the existing database file `path` as schema `name`. */
MUST_USE enum err db_attach(struct db *db, const char *path, const char *name);

#endif

/* The SQLite driver: one connection, its prepared statements, and the translation of SQLite's codes. Only
 * db.c includes sqlite3.h.
 *
 *     struct sqlite3_stmt *q = db_use(db, QUERY_X);
 *     db_bind_i64(q, 1, row);
 *     while (db_row(db, q, &err))
 *         … db_i64(q, 0) …
 *
 * db_row() resets the statement when it returns false; call db_reset() to leave the loop earlier. Bound texts
 * are not copied: they must stay valid until the statement is reset. Texts of a row are valid until the next
 * db_row() or db_reset(). */
#ifndef VT_STORE_DB_H
#define VT_STORE_DB_H

#include "base/error.h"
#include "base/str.h"
#include "base/uuid.h"
#include "store/queries.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

/* The header of the WAL index in shared memory (sqlite.org/walformat.html, 2.1): two copies of the fields by
 * which readers notice a commit, among them a counter of transactions and a checksum of the last frame. */
enum { DB_WAL_HEAD_WORDS = 2 * 48 / 8 };
/* Fields of it, as 32-bit words in native byte order: the last committed frame, and the last checkpointed
 * one. */
enum { DB_WAL_MAX_FRAME = 4, DB_WAL_BACKFILLED = 24 };

struct db {
    struct sqlite3 *handle; /* NULL: closed */
    struct sqlite3_stmt *statements[QUERY_COUNT];
    int logged_code;      /* the last code that was logged */
    int64_t logged_at_ms; /* monotonic */
    int64_t unlogged;     /* number of repetitions since */
    uint64_t failures;    /* errors of SQLite, except duplicates */
    int busy_timeout_ms;
    int64_t busy_since_us; /* start of the current wait for a lock */

    /* db_version() */
    const volatile uint64_t *wal_index; /* header of the WAL index; NULL: not available */
    uint64_t wal_head[DB_WAL_HEAD_WORDS];
    uint64_t version;
};

struct db_query {
    const char *name;
    const char *sql;
};
extern const struct db_query db_queries[QUERY_COUNT];

/* --- the connection --- */

/* Opens an existing file; an empty one is a new database. Does not read it yet, so the first statement
 * detects a file that is not a database. On failure the struct is closed. */
MUST_USE enum err db_open(struct db *db, const char *path);
void db_close(struct db *db); /* does nothing if closed; all statements must be reset */

/* Prepares every statement of queries.h. An error means that the schema is not the one this binary expects.
 */
MUST_USE enum err db_prepare(struct db *db);

/* Maximum wait for a lock; 0: do not wait. */
void db_set_busy_timeout(struct db *db, int timeout_ms);

/* A commit that leaves more pages than this in the log makes a checkpoint. */
void db_set_log_limit(struct db *db, int pages);

/* Closing this connection leaves the log as it is. Otherwise the last connection to a damaged database would
 * delete a log that it cannot read. */
void db_keep_log(struct db *db);

bool db_is_readonly(const struct db *db);
bool db_in_transaction(const struct db *db);

/* Maps the WAL index for db_version() and db_log_state(). Call it once, after a first read. */
void db_watch(struct db *db);

/* A number, never 0, that changes with every commit of any process. Reads shared memory; if that is not
 * available, every call returns another number. */
uint64_t db_version(struct db *db);

/* Pages in the write-ahead log, and those not yet checkpointed. Both 0 if shared memory is not available. */
struct db_log {
    int64_t pages, pending;
};
struct db_log db_log_state(const struct db *db);

/* See store_checkpoint(). ERR_BUSY is not logged. */
MUST_USE enum err db_checkpoint(struct db *db, enum checkpoint_mode mode);

/* Overwrites `to` with a snapshot of `from`. */
MUST_USE enum err db_copy(struct db *from, struct db *to);

/* --- constant SQL that is not prepared --- */

/* Runs the statements of a constant text. */
MUST_USE enum err db_exec(struct db *db, const char *sql);
/* One statement without a result; `*changes`: number of rows that it changed. */
MUST_USE enum err db_exec_changes(struct db *db, const char *sql, int64_t *changes);
/* One statement that returns one integer. */
MUST_USE enum err db_exec_i64(struct db *db, const char *sql, int64_t *out);
/* One statement that returns one text; `*same`: whether it equals `expected`. */
MUST_USE enum err db_exec_text(struct db *db, const char *sql, const char *expected, bool *same);
/* Attaches the existing database file `path` as schema `name`. */
MUST_USE enum err db_attach(struct db *db, const char *path, const char *name);

/* --- prepared statements --- */

/* Returns a statement that is ready to be bound. CHECKs that it is not in use. */
struct sqlite3_stmt *db_use(struct db *db, enum query query);

void db_bind_i64(struct sqlite3_stmt *q, int i, int64_t v);
void db_bind_i64_or_null(struct sqlite3_stmt *q, int i, int64_t v, int64_t null_value);
void db_bind_null(struct sqlite3_stmt *q, int i);
void db_bind_text(struct sqlite3_stmt *q, int i, struct str s);      /* p == NULL: NULL */
void db_bind_bytes(struct sqlite3_stmt *q, int i, struct str bytes); /* a blob; p == NULL: NULL */
void db_bind_blob(struct sqlite3_stmt *q, int i, const void *p, size_t len);
void db_bind_uuid(struct sqlite3_stmt *q, int i, const struct uuid *id);

/* Advances to the next row. False: no more rows (`*err` is OK) or an error; the statement is reset. */
bool db_row(struct db *db, struct sqlite3_stmt *q, enum err *err);
void db_reset(struct sqlite3_stmt *q);

/* Runs a statement that returns no row, and resets it. */
MUST_USE enum err db_run(struct db *db, struct sqlite3_stmt *q);

/* The same for a statement that writes. CHECK that a transaction is open. */
MUST_USE enum err db_write(struct db *db, struct sqlite3_stmt *q);
/* `*changes`: number of rows that the statement itself (not its triggers) changed. */
MUST_USE enum err db_write_count(struct db *db, struct sqlite3_stmt *q, int *changes);
/* `*changed`: whether it changed a row. */
MUST_USE enum err db_write_if(struct db *db, struct sqlite3_stmt *q, bool *changed);
/* ERR_NOT_FOUND if it changed no row. */
MUST_USE enum err db_update(struct db *db, struct sqlite3_stmt *q);
/* `*row`: the id of the new row. */
MUST_USE enum err db_insert(struct db *db, struct sqlite3_stmt *q, int64_t *row);

/* Runs a statement that returns at most one row. OK: positioned on it, call db_reset(). ERR_NOT_FOUND: no
 * row. */
MUST_USE enum err db_one(struct db *db, struct sqlite3_stmt *q);
/* The same for one integer; resets the statement. */
MUST_USE enum err db_one_i64(struct db *db, struct sqlite3_stmt *q, int64_t *out);

/* Columns of the row, counted from 0. */
int64_t db_i64(struct sqlite3_stmt *q, int i);
int64_t db_i64_or(struct sqlite3_stmt *q, int i, int64_t null_value);
struct str db_text(struct sqlite3_stmt *q, int i); /* text or blob; NULL: p == NULL */
/* Copies a blob. Returns false if it does not have exactly `len` bytes: the database is damaged. */
MUST_USE bool db_bytes(struct sqlite3_stmt *q, int i, void *out, size_t len);

/* Logs that a row is damaged and returns ERR_CORRUPT. */
enum err db_damaged(struct db *db, const char *what);

#endif

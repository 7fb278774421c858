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
/* Positions of two fields in the WAL index, counted in 32-bit words (native byte order): the number of the
 * last committed frame, and the number of the last checkpointed frame. */
enum { DB_WAL_MAX_FRAME = 4, DB_WAL_BACKFILLED = 24 };

struct db {
    struct sqlite3 *handle; /* NULL: closed */
    struct sqlite3_stmt *statements[QUERY_COUNT];
    int logged_code;      /* the last code that was logged */
    int64_t logged_at_ms; /* monotonic */
    int64_t unlogged;     /* how many times logged_code has occurred since logged_at_ms */
    uint64_t failures;    /* errors of SQLite, except violated UNIQUE constraints */
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

/* Opens an existing file. An empty file is a new database. Does not read the file yet: the first statement
 * detects a file that is not a database. On failure the struct is closed. */
MUST_USE enum err db_open(struct db *db, const char *path);
void db_close(
    struct db *db); /* Closes the connection. Does nothing if it is closed. All statements must be reset. */

/* Prepares every statement of queries.h. An error means that the schema is not the one that this binary
 * expects. */
MUST_USE enum err db_prepare(struct db *db);

/* Sets the maximum wait for a lock. 0 means not to wait. */
void db_set_busy_timeout(struct db *db, int timeout_ms);

/* Sets the size of the log, in pages, above which a commit makes a checkpoint. */
void db_set_log_limit(struct db *db, int pages);

/* Makes db_close() keep the write-ahead log. By default, the last connection that closes deletes the log. If
 * the database is damaged, this could delete a log that SQLite could not read. */
void db_keep_log(struct db *db);

/* Returns true if the connection can only read. */
bool db_is_readonly(const struct db *db);
/* Returns true if a transaction is open. */
bool db_in_transaction(const struct db *db);

/* Maps the WAL index for db_version() and db_log_state(). Call once, after a first read. */
void db_watch(struct db *db);

/* Returns a number, never 0, that changes with every commit of any process. It is read from shared memory. If
 * shared memory is not available, every call returns a different number. */
uint64_t db_version(struct db *db);

/* Number of pages in the write-ahead log, and how many of them are not checkpointed yet. Both are 0 if shared
 * memory is not available. */
struct db_log {
    int64_t pages, pending;
};
/* Returns the state of the write-ahead log. */
struct db_log db_log_state(const struct db *db);

/* Makes a checkpoint as described at store_checkpoint(). ERR_BUSY is not logged. */
MUST_USE enum err db_checkpoint(struct db *db, enum checkpoint_mode mode);

/* Overwrites `to` with a snapshot of `from`. */
MUST_USE enum err db_copy(struct db *from, struct db *to);

/* --- constant SQL that is not prepared --- */

/* Runs the statements of a constant text. */
MUST_USE enum err db_exec(struct db *db, const char *sql);
/* Runs one statement without a result. `*changes` receives the number of rows that it changed. */
MUST_USE enum err db_exec_changes(struct db *db, const char *sql, int64_t *changes);
/* Runs one statement that returns one integer. */
MUST_USE enum err db_exec_i64(struct db *db, const char *sql, int64_t *out);
/* Runs one statement that returns one text. `*same` receives whether the text equals `expected`. */
MUST_USE enum err db_exec_text(struct db *db, const char *sql, const char *expected, bool *same);
/* Attaches the existing database file `path` as schema `name`. */
MUST_USE enum err db_attach(struct db *db, const char *path, const char *name);

/* --- prepared statements --- */

/* Returns a statement whose values can be bound now. CHECKs that it is not in use. */
struct sqlite3_stmt *db_use(struct db *db, enum query query);

/* Bind a value to parameter `i`, counted from 1. db_bind_i64_or_null() binds NULL if `v` equals
 * `null_value`. */
void db_bind_i64(struct sqlite3_stmt *q, int i, int64_t v);
void db_bind_i64_or_null(struct sqlite3_stmt *q, int i, int64_t v, int64_t null_value);
void db_bind_null(struct sqlite3_stmt *q, int i);
void db_bind_text(struct sqlite3_stmt *q, int i, struct str s); /* binds NULL if s.p is NULL */
void db_bind_bytes(struct sqlite3_stmt *q, int i,
                   struct str bytes); /* a blob; binds NULL if bytes.p is NULL */
void db_bind_blob(struct sqlite3_stmt *q, int i, const void *p, size_t len);
void db_bind_uuid(struct sqlite3_stmt *q, int i, const struct uuid *id);

/* Advances to the next row. Returns false if there are no more rows (`*err` is OK) or if an error occurred
 * (`*err` is the error). In both cases the statement has been reset. */
bool db_row(struct db *db, struct sqlite3_stmt *q, enum err *err);
/* Resets a statement, so that it can be used again. */
void db_reset(struct sqlite3_stmt *q);

/* Runs a statement that returns no row, and resets it. */
MUST_USE enum err db_run(struct db *db, struct sqlite3_stmt *q);

/* Like db_run(), for a statement that writes. CHECKs that a transaction is open. */
MUST_USE enum err db_write(struct db *db, struct sqlite3_stmt *q);
/* Like db_write(). `*changes` receives the number of rows that the statement itself, without its triggers,
 * changed. */
MUST_USE enum err db_write_count(struct db *db, struct sqlite3_stmt *q, int *changes);
/* Like db_write(). `*changed` receives whether the statement changed a row. */
MUST_USE enum err db_write_if(struct db *db, struct sqlite3_stmt *q, bool *changed);
/* Like db_write(). Returns ERR_NOT_FOUND if the statement changed no row. */
MUST_USE enum err db_update(struct db *db, struct sqlite3_stmt *q);
/* Like db_write(). `*row` receives the id of the new row. */
MUST_USE enum err db_insert(struct db *db, struct sqlite3_stmt *q, int64_t *row);

/* Runs a statement that returns at most one row. On OK the statement is positioned on the row: read the
 * columns, then call db_reset(). Returns ERR_NOT_FOUND if there is no row. */
MUST_USE enum err db_one(struct db *db, struct sqlite3_stmt *q);
/* Runs a statement that returns at most one integer, and resets it. Returns ERR_NOT_FOUND if there is no row.
 */
MUST_USE enum err db_one_i64(struct db *db, struct sqlite3_stmt *q, int64_t *out);

/* Return column `i` of the current row, counted from 0. */
int64_t db_i64(struct sqlite3_stmt *q, int i);
/* Like db_i64(), but returns `null_value` if the column is NULL. */
int64_t db_i64_or(struct sqlite3_stmt *q, int i, int64_t null_value);
struct str db_text(struct sqlite3_stmt *q, int i); /* text or blob; p is NULL if the column is NULL */
/* Copies a blob. Returns false if it does not have exactly `len` bytes, which means that the database is
 * damaged. */
MUST_USE bool db_bytes(struct sqlite3_stmt *q, int i, void *out, size_t len);

/* Logs that a row is damaged and returns ERR_CORRUPT. `what` names the row. */
enum err db_damaged(struct db *db, const char *what);

#endif

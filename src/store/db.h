/* The SQLite driver: one connection, its prepared statements, and the translation of SQLite's codes. Only
 * db.c includes sqlite3.h.
 *
 * A statement is used as
 *
 *     struct sqlite3_stmt *q = db_use(db, QUERY_X);
 *     db_bind_i64(q, 1, row);
 *     while (db_row(db, q, &err))
 *         … db_i64(q, 0) …
 *
 * db_row() resets the statement when it returns false; who leaves the loop earlier calls db_reset(). Bound
 * texts are not copied: they must stay until the statement is reset. Texts of a row live until the next
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

/* Of the log's shared index (walformat.html, 2.1): what every reader looks at to see which commits there are,
 * twice, with a count of transactions and a checksum of the last frame. */
enum { DB_WAL_HEAD_WORDS = 2 * 48 / 8 };
/* In it, as 32-bit words of this machine: the last frame that is committed, and up to which one the database
 * has them. */
enum { DB_WAL_MAX_FRAME = 4, DB_WAL_BACKFILLED = 24 };

struct db {
    struct sqlite3 *handle; /* NULL: closed */
    struct sqlite3_stmt *statements[QUERY_COUNT];
    int logged_code;      /* the last code that was logged, */
    int64_t logged_at_ms; /* when (monotonic), */
    int64_t unlogged;     /* and how often it came again since */
    uint64_t failures;    /* of the library, other than a duplicate */
    int busy_timeout_ms;
    int64_t busy_since_us; /* of the wait for a lock that goes on */

    /* db_version() */
    const volatile uint64_t *wal_index; /* the head of the log's shared index; NULL: not to be had */
    uint64_t wal_head[DB_WAL_HEAD_WORDS];
    uint64_t version;
};

struct db_query {
    const char *name;
    const char *sql;
};
extern const struct db_query db_queries[QUERY_COUNT];

/* Opens the file, which must be there (empty: a new database). Nothing is read yet, so a file that is no
 * database is found by the first statement. On failure the struct is closed again. */
MUST_USE enum err db_open(struct db *db, const char *path);
/* Harmless when closed. All statements must be reset. */
void db_close(struct db *db);

/* Prepares every statement of queries.h; an error means that the schema is not what this binary expects. */
MUST_USE enum err db_prepare(struct db *db);

/* Waits up to so long for a lock; 0: never. */
void db_set_busy_timeout(struct db *db, int timeout_ms);

/* Runs the statements of a constant text of queries.h or of a migration. */
MUST_USE enum err db_exec(struct db *db, const char *sql);
/* The same for one statement that answers one integer, or one text of which `*same` tells whether it is
 * `expected`. */
/* Runs one statement that returns no row; `*changes` receives how many rows it changed. */
MUST_USE enum err db_exec_changes(struct db *db, const char *sql, int64_t *changes);
/* Makes the database file `path`, which must exist, readable as the schema `name`. */
MUST_USE enum err db_attach(struct db *db, const char *path, const char *name);
MUST_USE enum err db_exec_i64(struct db *db, const char *sql, int64_t *out);
MUST_USE enum err db_exec_text(struct db *db, const char *sql, const char *expected, bool *same);

/* Never 0. Two equal numbers: nobody, in this or another process, has committed in between. Costs a look at
 * shared memory; where that is not to be had each call gives a new number. */
void db_watch(struct db *db); /* once, when something has been read */
uint64_t db_version(struct db *db);

bool db_in_transaction(const struct db *db);

/* Closing this connection leaves the log as it is. Without this, the last connection of a damaged database
 * would delete a log that it cannot read. */
void db_keep_log(struct db *db);
bool db_is_readonly(const struct db *db);

/* The log, in pages: what is in it, and how much of that is not in the database yet. Seen in shared memory;
 * both are 0 where that is not to be had. */
struct db_log {
    int64_t pages, pending;
};
struct db_log db_log_state(const struct db *db); /* after db_watch() */

/* Like store_checkpoint(). ERR_BUSY is not logged. */
MUST_USE enum err db_checkpoint(struct db *db, enum checkpoint_mode mode);

/* A commit that leaves more pages in the log than this makes a checkpoint itself. */
void db_set_log_limit(struct db *db, int pages);

/* Copies the whole database as it is at one moment over what is in `to`. */
MUST_USE enum err db_copy(struct db *from, struct db *to);

/* A statement, ready to be bound. CHECKs that it is not in use. */
struct sqlite3_stmt *db_use(struct db *db, enum query query);

void db_bind_i64(struct sqlite3_stmt *q, int i, int64_t v);
void db_bind_i64_or_null(struct sqlite3_stmt *q, int i, int64_t v, int64_t null_value);
void db_bind_null(struct sqlite3_stmt *q, int i);
void db_bind_text(struct sqlite3_stmt *q, int i, struct str s);      /* p == NULL: NULL */
void db_bind_bytes(struct sqlite3_stmt *q, int i, struct str bytes); /* a blob; p == NULL: NULL */
void db_bind_blob(struct sqlite3_stmt *q, int i, const void *p, size_t len);
void db_bind_uuid(struct sqlite3_stmt *q, int i, const struct uuid *id);

/* True: a row is there. False: the statement is reset, and `*err` is OK at the end of the rows. */
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
/* False when the column does not hold exactly `len` bytes: a damaged database. */
MUST_USE bool db_bytes(struct sqlite3_stmt *q, int i, void *out, size_t len);

/* Logs damage that was found in a row and returns ERR_CORRUPT. */
enum err db_damaged(struct db *db, const char *what);

#endif

/* The SQL interface (sql.h) on a blocking connection to PostgreSQL, with its transactions.
 *
 * If the connection is lost, every statement of the running transaction fails with ERR_IO until it is rolled
 * back. The next transaction, or the next statement outside of a transaction, connects again, except while
 * the connection holds the import lock, which would be lost. A statement
 * outside of a transaction must only read, because it is sent again if the connection turns out to be lost.
 *
 * After any error, even ERR_EXISTS, PostgreSQL rejects the rest of the transaction, so the caller must roll
 * it back. Until then, all statements return the same error, or ERR_INTERNAL if the first error was
 * ERR_EXISTS. */
#ifndef VT_STORE_PG_PG_SQL_H
#define VT_STORE_PG_PG_SQL_H

#include "store/pg/pg_cursor.h"
#include "store/pg/pg_failure_log.h"
#include "store/pg/pg_later.h"
#include "store/pg/pg_session.h"
#include "store/pg/pg_writers.h"

enum pg_transaction_state {
    PG_TRANSACTION_NONE,
    PG_TRANSACTION_OPEN,
    PG_TRANSACTION_FAILED, /* it must be rolled back */
};

enum { PG_STATEMENT_MS = 60000 /* deadline of a statement, except if has_no_deadline is set */ };

struct pg_sql {
    struct sql sql; /* first */
    struct pg_session session;
    bool is_read_only;
    bool has_import_lock; /* the import lock is held. A lost connection is then not replaced, because the lock
                             was lost with it */
    bool was_prepared[QUERY_COUNT]; /* on this connection */
    struct pg_cursor *cursors;      /* QUERY_COUNT elements */

    enum pg_transaction_state transaction;
    enum err transaction_error; /* error of a failed transaction */
    bool has_conflict;          /* the last error was a deadlock or a serialization failure */
    struct pg_writer writer;
    int64_t transaction_number; /* number of the last write transaction */
    int64_t stays_until_ms;     /* before this time, a busy lock does not let the connection leave its host */
    bool has_no_deadline;       /* statements have no deadline, because they may have to skip all rows that
                                   pg_replace_clear() has deleted in the transaction */
    bool was_slow;              /* the last batch was logged as slow */
    int64_t changes;            /* number of rows that the last statement changed */

    struct pg_later later;
    bool has_prepared_bulk; /* on this connection */

    struct pg_failure_log log;
};

/* Connects. With `is_read_only`, the server rejects writes. The error text names the reason and what to do,
 * without a password. Call pg_sql_close() only after OK. */
MUST_USE enum err pg_sql_open(struct pg_sql *db, const char *url, const char *password_file,
                              bool is_read_only, struct error *error);
void pg_sql_close(struct pg_sql *db);

/* Begins a write transaction. Write transactions of all processes run one after the other, so that each sees
 * the changes of all earlier ones. Returns ERR_BUSY if the other write transactions do not end within
 * `lock_timeout_ms`. */
MUST_USE enum err pg_sql_begin(struct pg_sql *db, int lock_timeout_ms);
/* Begins a read-only transaction, which reads one snapshot. */
MUST_USE enum err pg_sql_begin_snapshot(struct pg_sql *db);
/* If the connection is lost, connects again, finds out whether the transaction was committed, and logs the
 * outcome. Returns ERR_IO if the transaction was not committed. Returns ERR_UNKNOWN_OUTCOME if this cannot be
 * found out within 25 s, or within a shorter time if waits are limited (pg_session_is_limited()). */
MUST_USE enum err pg_sql_commit(struct pg_sql *db);
/* Precondition: a transaction is open. */
void pg_sql_rollback(struct pg_sql *db);

/* Runs a statement that is not in queries.h, waiting at most `deadline_ms` (0: without a limit). The
 * statement is not prepared, so that the planner sees the values of the parameters. Frees the parameters. The
 * caller frees `*out`, which is set only on OK, with pg_result_free(). `name` is for the log. */
MUST_USE enum err pg_sql_read(struct pg_sql *db, const char *name, const char *text, struct pg_params *params,
                              int64_t deadline_ms, const struct pg_result **out);

/* Returns true if any process may have committed a write transaction (pg_sql_begin()) since the previous call
 * with the same `*seen`, see store_has_changed(). Barriers do not count. If nothing has changed and the
 * connection may write but has not done so for 30 s, proves that the server is the primary
 * (pg_writer_prove_primary()). */
bool pg_sql_has_changed(struct pg_sql *db, uint64_t *seen);

/* The functions of import_lock.h. The lock belongs to the connection, so it is released if the connection is
 * lost. */
MUST_USE enum err pg_sql_share_import_lock(struct pg_sql *db);
MUST_USE enum err pg_sql_try_import_lock(struct pg_sql *db, bool *acquired);
void pg_sql_release_import_lock(struct pg_sql *db);

#endif

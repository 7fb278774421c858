/* The PostgreSQL driver. The first batch of a connection that uses a statement also prepares it. A result is
 * received completely before its first row is read, so other statements can run while rows are read. */
#include "store/pg/pg_sql.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "pg/pg_barrier.h"
#include "pg/pg_link.h"
#include "store/pg/pg_translate.h"
#include "store/slow_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    RESOLVE_MS = 25000, /* how long to try to find the outcome of a commit; a failover takes 20 s */
    RESOLVE_PAUSE_MS = 100,
    MOVE_PAUSE_MS = 60000, /* a busy lock lets the connection try another host at most once in this time */
};

/* ---- the statements of the driver itself ---- */

enum driver_statement {
    READ_ONLY,
    BEGIN_WRITE,
    BEGIN_SNAPSHOT,
    LOCK_TIMEOUT,
    LOCK,
    COMMIT,
    ROLLBACK,
    CHANGES,
    SHARE_IMPORT_LOCK,
    TRY_IMPORT_LOCK,
    RELEASE_LOCKS,
    DRIVER_STATEMENTS
};

static const struct pg_statement driver_statements[DRIVER_STATEMENTS] = {
    [READ_ONLY] = {"vt_read_only",
                   "SELECT set_config('default_transaction_read_only', ($1::bigint)::text, false)", true},
    [BEGIN_WRITE] = {"vt_begin_write", "BEGIN ISOLATION LEVEL READ COMMITTED", false},
    [BEGIN_SNAPSHOT] = {"vt_begin_snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", true},
    [LOCK_TIMEOUT] = {"vt_lock_timeout", "SELECT set_config('lock_timeout', ($1::bigint)::text, true)", true},
    [LOCK] = {"vt_lock", PG_SQL_LOCK, true},
    [COMMIT] = {"vt_commit", "COMMIT", false},
    [ROLLBACK] = {"vt_rollback", "ROLLBACK", true},
    /* Has no name, so it is not prepared at the start, when the table `barriers` might not exist yet. */
    [CHANGES] = {"", PG_WRITERS_STATE, true},
    [SHARE_IMPORT_LOCK] = {"vt_share_import_lock",
                           "SELECT pg_advisory_lock_shared(" PG_SQL_LOCK_KEY("7240") ")", true},
    [TRY_IMPORT_LOCK] = {"vt_try_import_lock", "SELECT pg_try_advisory_lock(" PG_SQL_LOCK_KEY("7240") ")",
                         true},
    [RELEASE_LOCKS] = {"vt_release_locks", "SELECT pg_advisory_unlock_all()", true},
};

static void add_statement(struct pg_sql *db, enum driver_statement which, bool prepares,
                          const struct pg_params *params)
{
    pg_session_add(&db->session, driver_statements[which].name,
                   prepares ? driver_statements[which].sql : NULL, params);
}

static void add_statement_i64(struct pg_sql *db, enum driver_statement which, bool prepares, int64_t value)
{
    struct pg_params params;
    pg_params_init(&params);
    pg_params_add_i64(&params, value);
    add_statement(db, which, prepares, &params);
    pg_params_fini(&params);
}

static void add_statement_plain(struct pg_sql *db, enum driver_statement which)
{
    struct pg_params none;
    pg_params_init(&none);
    add_statement(db, which, !*driver_statements[which].name, &none);
}

/* Like pg_session_run(), for a batch that may begin with statements of sql_write_later(). `text` describes
 * the batch in the log if it is slow. */
static enum err run_batch(struct pg_sql *db, const char *text, int64_t deadline_ms)
{
    const int64_t start_us = clock_work_us();
    const enum err err =
        pg_later_end_batch(&db->later, &db->session, pg_session_run(&db->session, deadline_ms));
    db->was_slow = slow_query_report(text, (clock_work_us() - start_us) / 1000);
    return err;
}

/* ---- recording failures ---- */

/* Logs the error of the last batch, and marks the transaction as failed. */
static enum err fail(struct pg_sql *db, enum err err, const char *what)
{
    const bool is_lost = !pg_session_is_open(&db->session);
    pg_failure_log_add(&db->log, err, db->later.failed ? db->later.failed : what,
                       is_lost ? "" : db->session.error.sqlstate,
                       is_lost ? db->session.reason : db->session.error.text);
    db->sql.failures += err != ERR_EXISTS;
    db->has_conflict = pg_session_has_conflict(&db->session);
    if (db->transaction == PG_TRANSACTION_OPEN) {
        db->transaction = PG_TRANSACTION_FAILED;
        db->transaction_error = err == ERR_EXISTS ? ERR_INTERNAL : err;
    }
    return err;
}

/* ---- connecting again ---- */

static enum err connect_again(struct pg_sql *db)
{
    memset(db->was_prepared, 0, sizeof db->was_prepared);
    db->has_prepared_bulk = false;
    pg_later_clear(&db->later);
    enum err err = pg_session_open(&db->session);
    if (err)
        return err;
    add_statement_i64(db, READ_ONLY, true, db->is_read_only);
    for (int i = READ_ONLY + 1; i < DRIVER_STATEMENTS; i++)
        if (*driver_statements[i].name)
            pg_session_prepare(&db->session, driver_statements[i].name, driver_statements[i].sql);
    err = pg_session_run(&db->session, PG_ANSWER_MS);
    if (err && pg_session_is_open(&db->session)) {
        (void)snprintf(db->session.reason, sizeof db->session.reason, "%s", db->session.error.text);
        db->session.failure = PG_FAILED_CONNECTION;
        pg_session_close(&db->session);
    }
    return err;
}

/* Connects unless there is a connection. */
static enum err ensure_connected(struct pg_sql *db, const char *what)
{
    if (pg_session_is_open(&db->session))
        return OK;
    enum err err = db->has_import_lock ? ERR_IO : connect_again(db);
    if (err)
        return fail(db, err, what);
    pg_failure_log_connected(&db->log);
    return OK;
}

/* ---- the SQL interface ---- */

static struct pg_sql *pg_sql_of(struct sql *sql)
{
    return (struct pg_sql *)sql;
}

static struct sql_statement *use(struct sql *sql, enum query query)
{
    struct pg_cursor *c = &pg_sql_of(sql)->cursors[query];
    CHECK(!c->result && pg_translate(query)->text);
    return &c->statement;
}

/* Sends the statement of the cursor `ctx` once. */
static enum err send_cursor(struct pg_sql *db, void *ctx)
{
    struct pg_cursor *c = ctx;
    const enum query query = (enum query)(c - db->cursors);
    const struct pg_translated *t = pg_translate(query);
    struct pg_params params;
    const bool prepares = !db->was_prepared[query];
    pg_later_append_bulk(&db->later, &db->session);
    const int index = db->later.count; /* index of the preparation in the batch */
    pg_cursor_encode(c, t->param_count, &params);
    pg_session_add(&db->session, sql_queries[query].name, prepares ? t->text : NULL, &params);
    pg_params_fini(&params);
    enum err err = run_batch(db, t->text, db->has_no_deadline ? 0 : PG_STATEMENT_MS);
    if (db->was_slow)
        slow_query_request_plan(query);
    /* If only a command after the preparation has failed, the statement is prepared, and remains so after the
     * transaction has been rolled back. */
    db->was_prepared[query] = !prepares || !err || (db->session.has_error && db->session.failed_at > index);
    return err;
}

typedef enum err send_fn(struct pg_sql *db, void *ctx);

/* Runs a statement: `send` sends it and waits for the result. */
static enum err run_statement(struct pg_sql *db, const char *name, send_fn *send, void *ctx)
{
    if (db->transaction == PG_TRANSACTION_FAILED)
        return db->transaction_error;
    const bool is_connected = pg_session_is_open(&db->session);
    enum err err = ensure_connected(db, name);
    if (err)
        return err;
    err = send(db, ctx);
    /* The server may have restarted since the last statement, so try once more on a new connection. */
    if (is_connected && !pg_session_is_open(&db->session) && db->transaction == PG_TRANSACTION_NONE) {
        err = ensure_connected(db, name);
        if (err)
            return err;
        err = send(db, ctx);
    }
    return err ? fail(db, err, name) : OK;
}

static enum err run(struct pg_sql *db, struct pg_cursor *c)
{
    const enum err err = run_statement(db, sql_queries[c - db->cursors].name, send_cursor, c);
    if (err)
        return err;
    db->changes = pg_result_changes(db->session.result);
    c->result = pg_session_take_result(&db->session);
    c->row = -1;
    return OK;
}

static void reset(struct sql_statement *q)
{
    struct pg_cursor *c = pg_cursor_of(q);
    pg_result_free(c->result);
    c->result = NULL;
}

static bool row(struct sql *sql, struct sql_statement *q, enum err *err)
{
    struct pg_cursor *c = pg_cursor_of(q);
    *err = c->result ? OK : run(pg_sql_of(sql), c);
    if (*err)
        return false;
    if (pg_cursor_advance(c))
        return true;
    reset(q);
    return false;
}

/* Sends the delayed statements. */
static enum err send_later(struct pg_sql *db)
{
    pg_later_append_bulk(&db->later, &db->session);
    const enum err err = run_batch(db, "several writes", PG_STATEMENT_MS);
    return err ? fail(db, err, "batch") : OK;
}

static enum err prepare_bulk(struct pg_sql *db)
{
    pg_session_prepare(&db->session, pg_bulk_name, pg_bulk_text);
    const enum err err = run_batch(db, pg_bulk_text, PG_STATEMENT_MS);
    db->has_prepared_bulk = !err;
    return err ? fail(db, err, pg_bulk_name) : OK;
}

static enum err save_later(struct pg_sql *db, const struct pg_cursor *c)
{
    enum err err = OK;
    if (db->transaction == PG_TRANSACTION_FAILED)
        return db->transaction_error;
    if (!db->has_prepared_bulk)
        err = prepare_bulk(db);
    if (err || pg_bulk_add(&db->later.bulk, c))
        return err;
    err = send_later(db);
    return err || pg_bulk_add(&db->later.bulk, c) ? err : ERR_INTERNAL;
}

static enum err write_later(struct sql *sql, struct sql_statement *q)
{
    struct pg_sql *db = pg_sql_of(sql);
    struct pg_cursor *c = pg_cursor_of(q);
    const enum query query = (enum query)(c - db->cursors);
    struct pg_params params;
    if (query == QUERY_SAVE_COUNTS)
        return save_later(db, c);
    /* Not delayed if it must be prepared first, because only the result shows whether that succeeds. */
    if (db->transaction == PG_TRANSACTION_FAILED || !db->was_prepared[query] || pg_later_is_full(&db->later))
        return sql_run(sql, q);
    pg_cursor_encode(c, pg_translate(query)->param_count, &params);
    pg_later_add(&db->later, &db->session, query, &params);
    pg_params_fini(&params);
    return OK;
}

static int count_changes(struct sql *sql)
{
    return (int)pg_sql_of(sql)->changes;
}

static bool in_transaction(const struct sql *sql)
{
    return ((const struct pg_sql *)sql)->transaction != PG_TRANSACTION_NONE;
}

static enum err report_damage(struct sql *sql, const char *what)
{
    pg_failure_log_add(&pg_sql_of(sql)->log, ERR_CORRUPT, what, "XX001", "damaged row");
    sql->failures++;
    return ERR_CORRUPT;
}

static const struct sql_engine pg_engine = {.use = use,
                                            .bind_i64 = pg_cursor_bind_i64,
                                            .bind_null = pg_cursor_bind_null,
                                            .bind_text = pg_cursor_bind_text,
                                            .bind_blob = pg_cursor_bind_blob,
                                            .row = row,
                                            .write_later = write_later,
                                            .reset = reset,
                                            .i64 = pg_cursor_i64,
                                            .i64_or = pg_cursor_i64_or,
                                            .text = pg_cursor_text,
                                            .count_changes = count_changes,
                                            .in_transaction = in_transaction,
                                            .report_damage = report_damage};

/* ---- reads by SQL text ---- */

struct read {
    const char *text;
    const struct pg_params *params;
    int64_t deadline_ms;
};

static enum err send_read(struct pg_sql *db, void *ctx)
{
    const struct read *read = ctx;
    pg_later_append_bulk(&db->later, &db->session);
    pg_session_add(&db->session, "", read->text, read->params);
    return run_batch(db, read->text, read->deadline_ms);
}

enum err pg_sql_read(struct pg_sql *db, const char *name, const char *text, struct pg_params *params,
                     int64_t deadline_ms, const struct pg_result **out)
{
    struct read read = {.text = text, .params = params, .deadline_ms = deadline_ms};
    const enum err err = run_statement(db, name, send_read, &read);
    pg_params_fini(params);
    if (!err)
        *out = pg_session_take_result(&db->session);
    return err;
}

/* ---- transactions ---- */

static void add_begin_write(struct pg_sql *db, int lock_timeout_ms, int64_t step)
{
    add_statement_plain(db, BEGIN_WRITE);
    add_statement_i64(db, LOCK_TIMEOUT, false, lock_timeout_ms);
    add_statement_plain(db, LOCK);
    add_statement_i64(db, LOCK_TIMEOUT, false, 0); /* the timeout is only for LOCK */
    pg_writer_add(&db->writer, &db->session, step);
}

struct begin {
    bool writes;
    int lock_timeout_ms;
};

static enum err send_begin(struct pg_sql *db, void *ctx)
{
    const struct begin *b = ctx;
    if (b->writes)
        add_begin_write(db, b->lock_timeout_ms, 1);
    else
        add_statement_plain(db, BEGIN_SNAPSHOT);
    return run_batch(db, driver_statements[b->writes ? LOCK : BEGIN_SNAPSHOT].sql,
                     b->lock_timeout_ms + PG_ANSWER_MS);
}

/* Call if the lock was not acquired. The server may be an old primary (pg_session.h), on which a transaction
 * that waits for a standby holds the lock and does not end. Returns true if the session is now connected to
 * another host. Stays if it holds the import lock, and, because usually another process holds the lock of a
 * healthy primary, if it has waited only briefly or has tried to move in the last minute. */
static bool move_to_another_host(struct pg_sql *db, int lock_timeout_ms)
{
    const int64_t now = clock_connection_ms();
    const int host = db->session.host;
    if (db->has_import_lock || lock_timeout_ms < PG_ANSWER_MS || now < db->stays_until_ms)
        return false;
    db->stays_until_ms = now + MOVE_PAUSE_MS;
    return pg_session_leave_host(&db->session) && connect_again(db) == OK && db->session.host != host;
}

static enum err begin(struct pg_sql *db, bool writes, int lock_timeout_ms)
{
    CHECK(db->transaction == PG_TRANSACTION_NONE);
    db->has_conflict = false;
    struct begin b = {.writes = writes, .lock_timeout_ms = lock_timeout_ms};
    enum err err = run_statement(db, "begin", send_begin, &b);
    if (err == ERR_BUSY && move_to_another_host(db, lock_timeout_ms))
        err = run_statement(db, "begin", send_begin, &b);
    if (err) {
        pg_sql_rollback(db);
        return err;
    }
    db->transaction = PG_TRANSACTION_OPEN;
    return OK;
}

/* Reads the row of pg_writer_add(). If another backend than the one that opened the connection has run the
 * transaction, the connection goes through a connection pooler in transaction mode. It would lose the
 * settings and the import lock of the connection, and let other clients inherit them. */
static enum err read_begun(struct pg_sql *db)
{
    struct pg_row row = {.result = db->session.result};
    db->transaction_number = pg_row_i64(&row, 0);
    const int64_t backend_pid = pg_row_i64(&row, 1);
    if (row.bad || backend_pid == db->session.backend_pid)
        return OK;
    db->transaction = PG_TRANSACTION_NONE;
    pg_session_reject(&db->session, PG_FAILED_POOLER, pg_pooler_reason);
    return fail(db, ERR_IO, "begin");
}

enum err pg_sql_begin(struct pg_sql *db, int lock_timeout_ms)
{
    /* In PostgreSQL, a lock_timeout of 0 means no limit. */
    const enum err err = begin(db, true, lock_timeout_ms > 0 ? lock_timeout_ms : 1);
    return err ? err : read_begun(db);
}

enum err pg_sql_begin_snapshot(struct pg_sql *db)
{
    return begin(db, false, 0);
}

static enum err run_driver_statement(struct pg_sql *db, enum driver_statement which)
{
    pg_later_append_bulk(&db->later, &db->session);
    add_statement_plain(db, which);
    return run_batch(db, driver_statements[which].sql, PG_STATEMENT_MS);
}

void pg_sql_rollback(struct pg_sql *db)
{
    pg_bulk_clear(&db->later.bulk);
    /* Send the delayed statements in another batch than ROLLBACK, because the server skips the rest of a
     * batch after a statement has failed. */
    if (pg_session_is_open(&db->session) && db->later.count)
        (void)run_batch(db, "several writes", PG_STATEMENT_MS);
    /* If ROLLBACK fails, the connection may still be in a transaction, and must not be used again. */
    if (pg_session_is_open(&db->session) && run_driver_statement(db, ROLLBACK))
        pg_session_close(&db->session);
    db->transaction = PG_TRANSACTION_NONE;
}

/* Begins a new write transaction, whose lock waits until the unknown transaction has ended, and compares the
 * committed transaction number with that of the unknown one. The commit of the new transaction proves that
 * the server is the primary and that the number is durable. (PostgreSQL's own transaction id would prove
 * nothing: after a crash, it may be assigned again.) Returns false if the outcome is still unknown. */
static bool find_outcome(struct pg_sql *db, enum err *outcome)
{
    if (!pg_session_is_open(&db->session) && connect_again(db))
        return false;
    add_begin_write(db, PG_ANSWER_MS, 0);
    const enum err err = run_batch(db, driver_statements[LOCK].sql, 2 * PG_ANSWER_MS);
    if (err && (err != ERR_BUSY || !pg_session_leave_host(&db->session)))
        pg_sql_rollback(db);
    if (err)
        return false;
    struct pg_row row = {.result = db->session.result};
    *outcome = pg_row_i64(&row, 0) == db->transaction_number ? OK : ERR_IO;
    add_statement_plain(db, COMMIT);
    return run_batch(db, driver_statements[COMMIT].sql, PG_ANSWER_MS) == OK &&
           pg_result_is_command(db->session.result, "COMMIT");
}

static enum err resolve_commit(struct pg_sql *db)
{
    const struct timespec pause = {.tv_nsec = RESOLVE_PAUSE_MS * 1000000L};
    const int64_t end_ms = clock_connection_ms() + RESOLVE_MS;
    enum err outcome = OK;
    bool is_known = find_outcome(db, &outcome);
    while (!is_known && clock_connection_ms() < end_ms && !pg_session_is_limited()) {
        (void)nanosleep(&pause, NULL);
        is_known = find_outcome(db, &outcome);
    }
    if (is_known)
        log_warn("store: the connection was lost during a commit; the transaction was %s",
                 outcome ? "not committed" : "committed");
    else
        log_error("store: the connection was lost during a commit; it is unknown whether the transaction "
                  "was committed");
    /* The import lock was lost with the connection, so all further statements fail (ensure_connected()). */
    if (db->has_import_lock)
        pg_session_close(&db->session);
    return is_known ? outcome : ERR_UNKNOWN_OUTCOME;
}

enum err pg_sql_commit(struct pg_sql *db)
{
    if (db->transaction == PG_TRANSACTION_FAILED)
        return db->transaction_error;
    enum err err = run_driver_statement(db, COMMIT);
    if (!pg_session_is_open(&db->session)) {
        (void)fail(db, err, "commit");
        db->transaction = PG_TRANSACTION_NONE;
        return resolve_commit(db);
    }
    /* If a statement of sql_write_later() has failed, the transaction is still open. */
    if (err)
        return fail(db, err, "commit");
    db->transaction = PG_TRANSACTION_NONE;
    if (pg_result_is_command(db->session.result, "COMMIT")) {
        pg_writer_committed(&db->writer);
        return OK;
    }
    (void)snprintf(db->session.error.text, sizeof db->session.error.text, "the server has rolled back");
    return fail(db, ERR_INTERNAL, "commit");
}

bool pg_sql_has_changed(struct pg_sql *db, uint64_t *seen)
{
    const uint64_t before = *seen;
    CHECK(db->transaction == PG_TRANSACTION_NONE);
    if (ensure_connected(db, "changes") || run_driver_statement(db, CHANGES))
        return true;
    struct pg_row row = {.result = db->session.result};
    *seen = hash_64(pg_row_bytes(&row, 0), 0) | 1;
    /* If the proof is late, the next call connects to the next host, and compares its state. */
    const bool proves = *seen == before && !db->is_read_only;
    const enum err err = proves ? pg_writer_prove_primary(&db->writer, &db->session) : OK;
    if (err)
        (void)fail(db, err, "check of the primary");
    return *seen != before;
}

/* ---- the import lock ---- */

/* Runs a statement of the import lock, inside or outside of a transaction. */
static enum err run_lock(struct pg_sql *db, enum driver_statement which, int64_t deadline_ms)
{
    if (db->transaction == PG_TRANSACTION_FAILED)
        return db->transaction_error;
    enum err err = ensure_connected(db, driver_statements[which].name);
    if (err)
        return err;
    if (which != SHARE_IMPORT_LOCK)
        add_statement_plain(db, RELEASE_LOCKS);
    if (which != RELEASE_LOCKS)
        add_statement_plain(db, which);
    err = run_batch(db, driver_statements[which].sql, deadline_ms);
    return err ? fail(db, err, driver_statements[which].name) : OK;
}

enum err pg_sql_share_import_lock(struct pg_sql *db)
{
    const enum err err = run_lock(db, SHARE_IMPORT_LOCK, 0);
    db->has_import_lock = !err;
    return err;
}

enum err pg_sql_try_import_lock(struct pg_sql *db, bool *acquired)
{
    *acquired = false;
    enum err err = run_lock(db, TRY_IMPORT_LOCK, PG_STATEMENT_MS);
    if (err)
        return err;
    struct pg_row row = {.result = db->session.result};
    *acquired = pg_row_bool(&row, 0);
    db->has_import_lock = *acquired;
    return OK;
}

void pg_sql_release_import_lock(struct pg_sql *db)
{
    /* The server releases the locks of a lost connection. */
    if (pg_session_is_open(&db->session))
        (void)run_lock(db, RELEASE_LOCKS, PG_STATEMENT_MS);
    db->has_import_lock = false;
}

/* ---- opening and closing the connection ---- */

enum err pg_sql_open(struct pg_sql *db, const char *url, const char *password_file, bool is_read_only,
                     struct error *error)
{
    *db = (struct pg_sql){.sql = {.engine = &pg_engine}, .is_read_only = is_read_only};
    pg_writer_init(&db->writer);
    enum err err = pg_session_init(&db->session, url, password_file, error);
    if (err)
        return err;
    err = connect_again(db);
    if (err) {
        (void)error_set(error, err, "PostgreSQL: %s%s", db->session.reason,
                        pg_failure_fix(db->session.failure, db->session.reason));
        pg_session_fini(&db->session);
        return err;
    }
    pg_later_init(&db->later);
    db->cursors = xcalloc(QUERY_COUNT, sizeof *db->cursors);
    for (int i = 0; i < QUERY_COUNT; i++)
        pg_cursor_init(&db->cursors[i], &pg_engine);
    return OK;
}

void pg_sql_close(struct pg_sql *db)
{
    for (int i = 0; i < QUERY_COUNT; i++)
        pg_result_free(db->cursors[i].result);
    free(db->cursors);
    pg_later_fini(&db->later);
    pg_session_fini(&db->session);
}

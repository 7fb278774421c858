/* The SQLite driver. An error is logged where it first occurs. Each connection logs the same code at most
 * once a second, because a full or broken disk makes every request fail in the same way. */
#include "store/sqlite/db.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "store/slow_query.h"
#include "store/sqlite/sqlite_queries.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    /* Older versions can lose a commit when two writers restart the log at the same time. */
    SQLITE_VERSION_SOUND = 3051003,
    LOG_AGAIN_MS = 1000,
    BUSY_POLL_US = 500,
    COPY_STEP_PAGES = 1024,  /* 4 MiB */
    PROGRESS_STEPS = 100000, /* instructions of SQLite's machine, about a millisecond */
};

/* Forwards SQLite's own log. Notices (the recovery of a log after a crash) and warnings (a database file was
 * renamed while open) are logged at their own level. Everything else is logged at level debug, because SQLite
 * also returns it as an error code, which the caller logs. */
static void on_sqlite_log(void *unused, int code, const char *text)
{
    (void)unused;
    if ((code & 0xff) == SQLITE_NOTICE)
        log_info("sqlite: %s", text);
    else if ((code & 0xff) == SQLITE_WARNING)
        log_warn("sqlite: %s", text);
    else
        log_debug("sqlite: %s (%d)", text, code);
}

static void init_library(void)
{
    /* This call fails if SQLite has already been initialized by the VFS of a test. In this case, SQLite's
     * messages are not logged. */
    (void)sqlite3_config(SQLITE_CONFIG_LOG, on_sqlite_log, NULL);
    if (sqlite3_libversion_number() < SQLITE_VERSION_SOUND)
        log_warn("sqlite: version %s can corrupt a database that has two writers; use 3.51.3 or newer",
                 sqlite3_libversion());
}

static enum err err_of_io(int system_errno)
{
    switch (system_errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ERR_FULL;
    case EROFS: return ERR_READONLY;
    default: return ERR_IO;
    }
}

static enum err err_of_constraint(int code)
{
    switch (code) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID: return ERR_EXISTS;
    default: return ERR_INVALID;
    }
}

static enum err err_of_code(int code, int system_errno)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return ERR_BUSY;
    case SQLITE_FULL:
    case SQLITE_TOOBIG: return ERR_FULL;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return ERR_READONLY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT: return ERR_CORRUPT;
    case SQLITE_NOMEM: return ERR_NOMEM;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return err_of_io(system_errno);
    case SQLITE_CONSTRAINT: return err_of_constraint(code);
    case SQLITE_INTERRUPT: return ERR_CANCELED;
    default: return ERR_INTERNAL;
    }
}

static void log_failure(struct db *db, int code, const char *what, const char *words)
{
    int64_t now = clock_mono_ms();
    if (code == db->logged_code && now - db->logged_at_ms < LOG_AGAIN_MS) {
        db->unlogged++;
        return;
    }
    /* A violated constraint and an interruption are expected: the caller handles a violated constraint, and
     * has itself requested the interruption. */
    enum log_level level = (code & 0xff) == SQLITE_CONSTRAINT  ? LOG_DEBUG
                           : (code & 0xff) == SQLITE_INTERRUPT ? LOG_DEBUG
                           : (code & 0xff) == SQLITE_BUSY      ? LOG_WARN
                                                               : LOG_ERROR;
    if (db->unlogged)
        log_at(level, "store: %s: %s (%d; %lld more error%s not logged)", what, words, code,
               (long long)db->unlogged, plural(db->unlogged, "", "s"));
    else
        log_at(level, "store: %s: %s (%d)", what, words, code);
    db->logged_code = code;
    db->logged_at_ms = now;
    db->unlogged = 0;
}

/* Logs and translates the error of the last call on this connection. */
static enum err fail(struct db *db, const char *what)
{
    int code = sqlite3_extended_errcode(db->handle);
    int system_errno = sqlite3_system_errno(db->handle);
    log_failure(db, code, what, sqlite3_errmsg(db->handle));
    enum err err = err_of_code(code, system_errno);
    db->sql.failures += err != ERR_EXISTS;
    return err ? err : ERR_INTERNAL;
}

/* Called by SQLite when a statement has ended. SQLite measures the time from the first step to the reset,
 * with a resolution of a millisecond. */
static int on_statement_end(unsigned event, void *ctx, void *statement, void *nanoseconds)
{
    (void)event;
    (void)ctx;
    (void)slow_query_report(sqlite3_sql(statement), *(const sqlite3_int64 *)nanoseconds / 1000000);
    return 0;
}

/* ---- the SQL interface ---- */

static struct db *db_of(struct sql *sql)
{
    return (struct db *)sql;
}

static struct sql_statement *use(struct sql *sql, enum query query)
{
    struct sql_statement *q = &db_of(sql)->statements[query];
    CHECK(q->handle && !sqlite3_stmt_busy(q->handle));
    return q;
}

static void bind_i64(struct sql_statement *q, int i, int64_t v)
{
    CHECK(sqlite3_bind_int64(q->handle, i, v) == SQLITE_OK);
}

static void bind_null(struct sql_statement *q, int i)
{
    CHECK(sqlite3_bind_null(q->handle, i) == SQLITE_OK);
}

static void bind_text(struct sql_statement *q, int i, struct str s)
{
    CHECK(sqlite3_bind_text64(q->handle, i, s.p, s.len, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK);
}

static void bind_blob(struct sql_statement *q, int i, const void *p, size_t len)
{
    /* SQLite binds a NULL pointer as NULL. */
    CHECK(sqlite3_bind_blob64(q->handle, i, len ? p : "", len, SQLITE_STATIC) == SQLITE_OK);
}

static bool row(struct sql *sql, struct sql_statement *q, enum err *err)
{
    struct db *db = db_of(sql);
    int code = sqlite3_step(q->handle);
    if (code == SQLITE_ROW)
        return true;
    *err = code == SQLITE_DONE ? OK : fail(db, sql_queries[q - db->statements].name);
    (void)sqlite3_reset(q->handle);
    return false;
}

static void reset(struct sql_statement *q)
{
    /* sqlite3_reset() returns the error of the last step, which row() has handled. */
    (void)sqlite3_reset(q->handle);
}

static int64_t i64(struct sql_statement *q, int i)
{
    return sqlite3_column_int64(q->handle, i);
}

static int64_t i64_or(struct sql_statement *q, int i, int64_t null_value)
{
    return sqlite3_column_type(q->handle, i) == SQLITE_NULL ? null_value : sqlite3_column_int64(q->handle, i);
}

static struct str text(struct sql_statement *q, int i)
{
    if (sqlite3_column_type(q->handle, i) == SQLITE_NULL)
        return str_make(NULL, 0);
    /* Reads the value as a blob, so that SQLite does not convert it. For an empty value, SQLite returns
     * NULL. */
    const char *p = sqlite3_column_blob(q->handle, i);
    return str_make(p ? p : "", p ? (size_t)sqlite3_column_bytes(q->handle, i) : 0);
}

static int count_changes(struct sql *sql)
{
    return sqlite3_changes(db_of(sql)->handle);
}

static bool in_transaction(const struct sql *sql)
{
    return db_in_transaction((const struct db *)sql);
}

static enum err report_damage(struct sql *sql, const char *what)
{
    log_failure(db_of(sql), SQLITE_CORRUPT, what, "damaged row");
    sql->failures++;
    return ERR_CORRUPT;
}

static enum err prepare(struct db *db, int from, int to)
{
    for (int i = from; i < to; i++) {
        struct sqlite3_stmt *q;
        const char *rest;
        int code =
            sqlite3_prepare_v3(db->handle, sql_queries[i].text, -1, SQLITE_PREPARE_PERSISTENT, &q, &rest);
        if (code != SQLITE_OK)
            return fail(db, sql_queries[i].name);
        CHECK(!*rest);
        db->statements[i] = (struct sql_statement){.engine = db->sql.engine, .handle = q};
    }
    return OK;
}

static enum err prepare_rare(struct sql *sql)
{
    return prepare(db_of(sql), QUERY_FIRST_RARE, QUERY_COUNT);
}

static const struct sql_engine sqlite_sql = {.can_nest = true,
                                             .use = use,
                                             .bind_i64 = bind_i64,
                                             .bind_null = bind_null,
                                             .bind_text = bind_text,
                                             .bind_blob = bind_blob,
                                             .row = row,
                                             .reset = reset,
                                             .i64 = i64,
                                             .i64_or = i64_or,
                                             .text = text,
                                             .count_changes = count_changes,
                                             .in_transaction = in_transaction,
                                             .report_damage = report_damage,
                                             .prepare_rare = prepare_rare};

/* ---- the connection ---- */

enum err db_open(struct db *db, const char *path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, init_library);
    *db = (struct db){.sql = {.engine = &sqlite_sql}};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (sqlite3_open_v2(path, &db->handle, flags, NULL) != SQLITE_OK) {
        enum err err = db->handle ? fail(db, "open") : ERR_NOMEM;
        db_close(db);
        return err;
    }
    /* Switch off features that our statements do not need and a damaged or malicious file might use. */
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* The triggers of the schema are for the previous release, which may use the same file. Our statements
     * maintain the same columns themselves. Actions of foreign keys are not triggers. */
    CHECK(sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL) == SQLITE_OK);
    (void)sqlite3_trace_v2(db->handle, SQLITE_TRACE_PROFILE, on_statement_end, NULL);
    /* Without this setting, SQLite recompiles a statement that uses a partial index whenever a value is
     * bound. */
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_QPSG, 1, NULL);
    return OK;
}

void db_close(struct db *db)
{
    for (int i = 0; i < QUERY_COUNT; i++)
        (void)sqlite3_finalize(db->statements[i].handle);
    int code = sqlite3_close(db->handle);
    CHECK(code == SQLITE_OK);
    *db = (struct db){0};
}

enum err db_prepare(struct db *db)
{
    return prepare(db, 0, QUERY_FIRST_RARE);
}

/* SQLite's own busy handler soon polls only every 100 ms. An import writes one transaction after another and
 * releases the lock for only about a millisecond in between. A waiting connection must not miss these gaps
 * for seconds. */
static int on_busy(void *ctx, int count)
{
    const struct timespec pause = {.tv_nsec = BUSY_POLL_US * 1000L};
    struct db *db = ctx;
    if (count == 0)
        db->busy_since_us = clock_work_us();
    else if (clock_work_us() - db->busy_since_us >= db->busy_timeout_ms * INT64_C(1000))
        return 0;
    (void)nanosleep(&pause, NULL);
    return 1;
}

void db_set_busy_timeout(struct db *db, int timeout_ms)
{
    db->busy_timeout_ms = timeout_ms;
    (void)sqlite3_busy_handler(db->handle, timeout_ms > 0 ? on_busy : NULL, db);
}

enum err db_exec(struct db *db, const char *sql)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fail(db, "exec");
    return OK;
}

enum err db_exec_changes(struct db *db, const char *sql, int64_t *changes)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fail(db, "exec");
    *changes = sqlite3_changes64(db->handle);
    return OK;
}

enum err db_attach(struct db *db, const char *path, const char *name)
{
    struct sqlite3_stmt *q;
    if (sqlite3_prepare_v2(db->handle, "ATTACH DATABASE ?1 AS ?2", -1, &q, NULL) != SQLITE_OK)
        return fail(db, "attach");
    CHECK(sqlite3_bind_text(q, 1, path, -1, SQLITE_STATIC) == SQLITE_OK &&
          sqlite3_bind_text(q, 2, name, -1, SQLITE_STATIC) == SQLITE_OK);
    enum err err = sqlite3_step(q) == SQLITE_DONE ? OK : fail(db, "attach");
    (void)sqlite3_finalize(q);
    return err;
}

enum err db_exec_with_i64(struct db *db, const char *sql, int64_t value)
{
    struct sqlite3_stmt *q;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &q, NULL) != SQLITE_OK)
        return fail(db, sql);
    CHECK(sqlite3_bind_int64(q, 1, value) == SQLITE_OK);
    enum err err = sqlite3_step(q) == SQLITE_DONE ? OK : fail(db, sql);
    (void)sqlite3_finalize(q);
    return err;
}

static enum err exec_one(struct db *db, const char *sql, struct sqlite3_stmt **out)
{
    if (sqlite3_prepare_v2(db->handle, sql, -1, out, NULL) != SQLITE_OK)
        return fail(db, sql);
    if (sqlite3_step(*out) == SQLITE_ROW)
        return OK;
    enum err err = fail(db, sql);
    (void)sqlite3_finalize(*out);
    return err;
}

enum err db_exec_i64(struct db *db, const char *sql, int64_t *out)
{
    struct sqlite3_stmt *q;
    enum err err = exec_one(db, sql, &q);
    if (err)
        return err;
    *out = sqlite3_column_int64(q, 0);
    (void)sqlite3_finalize(q);
    return OK;
}

enum err db_exec_text(struct db *db, const char *sql, const char *expected, bool *same)
{
    struct sqlite3_stmt *q;
    enum err err = exec_one(db, sql, &q);
    if (err)
        return err;
    struct sql_statement result = {.engine = &sqlite_sql, .handle = q};
    *same = str_eq(text(&result, 0), str_from_cstr(expected));
    (void)sqlite3_finalize(q);
    return OK;
}

void db_map_wal_index(struct db *db)
{
    enum { REGION_BYTES = 32768 }; /* size of one mapped region of the WAL index */
    sqlite3_file *file = NULL;
    void volatile *index = NULL;
    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
        !file->pMethods || file->pMethods->iVersion < 2)
        return;
    if (file->pMethods->xShmMap(file, 0, REGION_BYTES, 0, &index) == SQLITE_OK)
        db->wal_index = index;
}

/* This function may read the header while another process is writing it. What it reads then differs from both
 * the old and the new header, so the next call reports another change. A commit is never missed; at worst it
 * is counted twice. */
uint64_t db_get_version(struct db *db)
{
    uint64_t differs = db->version == 0 || !db->wal_index;
    for (int i = 0; i < DB_WAL_HEAD_WORDS && db->wal_index; i++) {
        uint64_t word = db->wal_index[i];
        differs |= word ^ db->wal_head[i];
        db->wal_head[i] = word;
    }
    db->version += differs != 0;
    return db->version;
}

bool db_in_transaction(const struct db *db)
{
    return !sqlite3_get_autocommit(db->handle);
}

void db_keep_log(struct db *db)
{
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

void db_keep_existing_log(struct db *db)
{
    const char *log = sqlite3_filename_wal(sqlite3_db_filename(db->handle, "main"));
    if (access(log, F_OK) == 0)
        db_keep_log(db);
}

bool db_is_readonly(const struct db *db)
{
    return sqlite3_db_readonly(db->handle, "main") == 1;
}

struct db_log db_get_log_state(const struct db *db)
{
    const volatile uint32_t *index = (const volatile uint32_t *)db->wal_index;
    if (!index)
        return (struct db_log){0};
    const int64_t pages = index[DB_WAL_MAX_FRAME], copied = index[DB_WAL_BACKFILLED];
    /* Another process may restart the log between the two reads. */
    return (struct db_log){.pages = pages, .pending = pages > copied ? pages - copied : 0};
}

enum err db_checkpoint(struct db *db, enum checkpoint_mode mode)
{
    static const int modes[] = {[CHECKPOINT_PASSIVE] = SQLITE_CHECKPOINT_PASSIVE,
                                [CHECKPOINT_RESTART] = SQLITE_CHECKPOINT_RESTART,
                                [CHECKPOINT_TRUNCATE] = SQLITE_CHECKPOINT_TRUNCATE};
    int code = sqlite3_wal_checkpoint_v2(db->handle, "main", modes[mode], NULL, NULL);
    if (code == SQLITE_OK)
        return OK;
    return code == SQLITE_BUSY ? ERR_BUSY : fail(db, "checkpoint");
}

void db_set_checkpoint_pages(struct db *db, int pages)
{
    (void)sqlite3_wal_autocheckpoint(db->handle, pages);
}

/* Copies all pages. Returns false if `progress` has canceled the copy. */
static bool copy_pages(sqlite3_backup *copy, const struct store_progress *progress)
{
    int code;
    do {
        code = sqlite3_backup_step(copy, progress ? COPY_STEP_PAGES : -1);
        if (progress && !progress->step(progress->ctx))
            return false;
    } while (code == SQLITE_OK);
    return true;
}

enum err db_copy(struct db *from, struct db *to, const struct store_progress *progress)
{
    int64_t objects;
    /* The open read transaction makes all steps copy the same snapshot. Without it, each commit of another
     * connection would restart the copy. */
    enum err err = db_exec(from, SQL_BEGIN_READ);
    if (!err)
        err = db_exec_i64(from, SQL_COUNT_SCHEMA, &objects);
    if (err)
        return err;
    sqlite3_backup *copy = sqlite3_backup_init(to->handle, "main", from->handle, "main");
    if (!copy)
        return fail(to, "copy");
    const bool canceled = !copy_pages(copy, progress);
    /* sqlite3_backup_finish() returns the error of the last step, and sets it on `to`. */
    err = sqlite3_backup_finish(copy) == SQLITE_OK ? OK : fail(to, "copy");
    const enum err end = db_in_transaction(from) ? db_exec(from, SQL_ROLLBACK) : OK;
    return err ? err : canceled ? ERR_CANCELED : end;
}

static int on_progress(void *ctx)
{
    const struct store_progress *progress = ctx;
    return !progress->step(progress->ctx);
}

void db_set_progress(struct db *db, const struct store_progress *progress)
{
    sqlite3_progress_handler(db->handle, PROGRESS_STEPS, progress ? on_progress : NULL,
                             (void *)(uintptr_t)progress);
}

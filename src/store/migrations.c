/* Brings a database file to this binary's schema.
 *
 *   missing or empty --store_create()--> version 1 --> ... --store_migrate()--> current version
 *
 * Each migration is a transaction. The version is read again inside it, so several processes may migrate at
 * the same time, and a crash leaves a complete version. */
#include "store/migrations.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/file_owner.h"
#include "store/db.h"
#include "store/diagnosis.h"
#include "store/replace.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MIGRATE_TIMEOUT_MS = 30000, /* for other processes that migrate at the same time */
    WAL_RETRY_MS = 20,
};

/* The file is not world-readable, because the database contains key hashes and private data. SQLite gives its
 * other files the same owner and permissions. Another process may create the file at the same time. */
static enum err create_file(const char *path, struct error *error)
{
    int fd = file_open_as(path, path, 0640);
    if (fd < 0)
        return error_set(error, errno == ENOSPC ? ERR_FULL : ERR_READONLY,
                         "cannot create the database %s: %s", path, strerror(errno));
    (void)close(fd);
    return OK;
}

/* Rolls back if a transaction is open. If that fails (no memory), the caller closes the connection, which
 * ends the transaction too. */
static enum err end_transaction(struct db *db, enum err err)
{
    enum err end = db_in_transaction(db) ? db_exec(db, SQL_ROLLBACK) : OK;
    return err ? err : end;
}

static enum err read_identity(struct db *db, struct schema_identity *out)
{
    enum err err = db_exec_i64(db, SQL_APPLICATION_ID, &out->application_id);
    if (err)
        return err;
    err = db_exec_i64(db, SQL_USER_VERSION, &out->version);
    if (err)
        return err;
    return db_exec_i64(db, SQL_COUNT_SCHEMA, &out->objects);
}

enum err schema_read_identity(struct db *db, struct schema_identity *out)
{
    enum err err = db_exec(db, SQL_BEGIN_READ);
    if (err)
        return err;
    return end_transaction(db, read_identity(db, out));
}

/* Checks that the file is a viewtally database or, with `creates`, empty. */
static enum err check_identity(struct db *db, const char *path, bool creates, struct error *error)
{
    struct schema_identity is;
    enum err err = schema_read_identity(db, &is);
    if (err)
        return diagnose_failure(err, path, error);
    bool empty = is.application_id == 0 && is.objects == 0 && is.version == 0;
    if (is.application_id != SCHEMA_APPLICATION_ID && !empty)
        return diagnose_foreign(path, error);
    if (is.version > schema_migration_count)
        return diagnose_newer(path, is.version, error);
    if (empty && !creates)
        return diagnose_empty(path, error);
    return OK;
}

/* If two connections change the mode at the same time, SQLite returns "busy" without calling the busy
 * handler. */
static enum err enter_wal_mode(struct db *db)
{
    const struct timespec pause = {.tv_nsec = WAL_RETRY_MS * 1000L * 1000L};
    int64_t until = clock_work_us() + MIGRATE_TIMEOUT_MS * INT64_C(1000);
    for (;;) {
        bool wal;
        enum err err = db_exec_text(db, SQL_WAL, "wal", &wal);
        if (!err)
            return wal ? OK : ERR_IO;
        if (err != ERR_BUSY || clock_work_us() > until)
            return err;
        (void)nanosleep(&pause, NULL);
    }
}

/* Runs in an open transaction. */
static enum err apply_in_transaction(struct db *db, const struct schema_migration *m, bool *applied)
{
    int64_t version;
    enum err err = db_exec_i64(db, SQL_USER_VERSION, &version);
    if (err || version >= m->version)
        return err;
    CHECK(version == m->version - 1);
    err = db_exec(db, m->sql);
    if (err)
        return err;
    err = db_exec_i64(db, SQL_USER_VERSION, &version);
    if (err)
        return err;
    CHECK(version == m->version);
    *applied = true;
    return db_exec(db, SQL_COMMIT);
}

static enum err apply(struct db *db, const struct schema_migration *m, bool *applied)
{
    int64_t version;
    enum err err = db_exec_i64(db, SQL_USER_VERSION, &version);
    /* If no migration is pending, do not wait for a writer. */
    if (err || version >= m->version)
        return err;
    err = db_exec(db, SQL_BEGIN);
    if (err)
        return err;
    err = end_transaction(db, apply_in_transaction(db, m, applied));
    *applied = *applied && !err;
    return err;
}

static enum err apply_all(struct db *db, int *count)
{
    enum err err = enter_wal_mode(db);
    if (err)
        return err;
    err = db_exec(db, SQL_SETUP);
    for (int i = 0; !err && i < schema_migration_count; i++) {
        bool applied = false;
        err = apply(db, &schema_migrations[i], &applied);
        *count += applied;
    }
    return err;
}

static enum err migrate_open(struct db *db, const char *path, bool creates, int *count, struct error *error)
{
    db_set_busy_timeout(db, MIGRATE_TIMEOUT_MS);
    enum err err = check_identity(db, path, creates, error);
    if (err)
        return err;
    err = db_is_readonly(db) ? ERR_READONLY : apply_all(db, count);
    return err ? diagnose_failure(err, path, error) : OK;
}

static enum err migrate_file(const char *path, bool creates, int *count, struct error *error)
{
    struct db db;
    enum err err = db_open(&db, path);
    if (err)
        return diagnose_failure(err, path, error);
    err = migrate_open(&db, path, creates, count, error);
    db_close(&db);
    return err;
}

enum err store_migrate(const char *path, int *count, struct error *error)
{
    *count = 0;
    enum err err = diagnose_path(path, error);
    if (err)
        return err;
    return migrate_file(path, false, count, error);
}

enum err store_create(const char *path, int *count, struct error *error)
{
    *count = 0;
    enum err err = diagnose_path(path, error);
    if (err == ERR_NOT_FOUND && !replace_was_interrupted(path) && !diagnose_directory(path, error))
        err = create_file(path, error);
    if (err)
        return err;
    return migrate_file(path, true, count, error);
}

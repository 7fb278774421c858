/* Brings a database file to this binary's schema.
 *
 *   missing or empty --store_create()--> version 1 --> ... --store_migrate()--> current
 *
 * Each migration is a transaction of its own.
 * The version is read again inside each transaction, so several processes may do it at once: who comes second
 * finds it done. A crash leaves a whole version, never a part. */
#include "store/migrations.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/file_owner.h"
#include "store/db.h"
#include "store/replace.h"
#include "store/store.h"
#include "store/diagnosis.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum {
    /* For others that migrate at the same time. */
    MIGRATE_TIMEOUT_MS = 30000,
    WAL_RETRY_MS = 20,
};

/* The database holds hashes of keys and what authors do: not for everybody on the machine. SQLite gives its
 * other files the same owner and permissions. Another process may create the file at the same time. */
static enum err create_file(const char *path, const char **why)
{
    int fd = file_open_as(path, path, 0640);
    if (fd < 0) {
        *why = db_sentence("the database %s cannot be created: %s", path, strerror(errno));
        return errno == ENOSPC ? ERR_FULL : ERR_READONLY;
    }
    (void)close(fd);
    return OK;
}

static enum err find_or_create(const char *path, const char **why)
{
    enum err err = why_bad_path(path, why);
    if (err != ERR_NOT_FOUND || replace_was_interrupted(path) || why_bad_directory(path, why))
        return err;
    return create_file(path, why);
}

/* Leaves nothing of the transaction. Where even that fails (no memory) the connection is closed next, which
 * ends it too. */
static enum err end_transaction(struct db *db, enum err err)
{
    enum err end = db_in_transaction(db) ? db_exec(db, SQL_ROLLBACK) : OK;
    return err ? err : end;
}

enum err schema_read_identity(struct db *db, struct schema_identity *out)
{
    enum err err = db_exec(db, SQL_BEGIN_READ);
    if (err)
        return err;
    err = db_exec_i64(db, SQL_APPLICATION_ID, &out->application_id);
    if (!err)
        err = db_exec_i64(db, SQL_USER_VERSION, &out->version);
    if (!err)
        err = db_exec_i64(db, SQL_COUNT_SCHEMA, &out->objects);
    return end_transaction(db, err);
}

/* OK if the file is a database of this program or, with `creates`, an empty file. */
static enum err check_owner(struct db *db, const char *path, bool creates, const char **why)
{
    struct schema_identity is;
    enum err err = schema_read_identity(db, &is);
    if (err) {
        *why = why_of(err, path);
        return err;
    }
    bool empty = is.application_id == 0 && is.objects == 0 && is.version == 0;
    if (is.application_id != SCHEMA_APPLICATION_ID && !empty) {
        *why = why_foreign(path);
        return ERR_CORRUPT;
    }
    if (is.version > schema_migration_count) {
        *why = why_newer(path, is.version);
        return ERR_VERSION;
    }
    if (empty && !creates) {
        *why = why_empty(path);
        return ERR_VERSION;
    }
    return OK;
}

/* Two connections that change the mode at once get "busy" without the busy time-out being asked. */
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

/* In an open transaction. */
static enum err apply_here(struct db *db, const struct schema_migration *m, bool *done)
{
    int64_t version;
    enum err err = db_exec_i64(db, SQL_USER_VERSION, &version);
    if (err || version >= m->version)
        return err;
    CHECK(version == m->version - 1);
    err = db_exec(db, m->sql);
    if (!err)
        err = db_exec_i64(db, SQL_USER_VERSION, &version);
    if (!err)
        CHECK(version == m->version);
    *done = !err;
    return err;
}

static enum err apply(struct db *db, const struct schema_migration *m, bool *done)
{
    int64_t version;
    enum err err = db_exec_i64(db, SQL_USER_VERSION, &version);
    /* Who has nothing to do need not wait for a writer. */
    if (err || version >= m->version)
        return err;
    err = db_exec(db, SQL_BEGIN);
    if (err)
        return err;
    err = apply_here(db, m, done);
    if (!err)
        err = db_exec(db, SQL_COMMIT);
    *done = *done && !err;
    return end_transaction(db, err);
}

static enum err apply_all(struct db *db, const char *path, int *applied, const char **why)
{
    enum err err = enter_wal_mode(db);
    if (!err)
        err = db_exec(db, SQL_SETUP);
    for (int i = 0; !err && i < schema_migration_count; i++) {
        bool done = false;
        err = apply(db, &schema_migrations[i], &done);
        *applied += done;
    }
    if (err)
        *why = why_of(err, path);
    return err;
}

static enum err migrate_open(struct db *db, const char *path, bool creates, int *applied, const char **why)
{
    db_set_busy_timeout(db, MIGRATE_TIMEOUT_MS);
    enum err err = check_owner(db, path, creates, why);
    if (err)
        return err;
    if (db_is_readonly(db)) {
        *why = why_of(ERR_READONLY, path);
        return ERR_READONLY;
    }
    return apply_all(db, path, applied, why);
}

static enum err migrate_file(const char *path, bool creates, int *applied, const char **why)
{
    struct db db;
    enum err err = db_open(&db, path);
    if (err) {
        *why = why_of(err, path);
        return err;
    }
    err = migrate_open(&db, path, creates, applied, why);
    db_close(&db);
    return err;
}

enum err store_migrate(const char *path, int *applied, const char **why)
{
    *applied = 0;
    enum err err = why_bad_path(path, why);
    return err ? err : migrate_file(path, false, applied, why);
}

enum err store_create(const char *path, int *applied, const char **why)
{
    *applied = 0;
    enum err err = find_or_create(path, why);
    return err ? err : migrate_file(path, true, applied, why);
}

/* Brings a database file to this binary's schema.
 *
 *   missing or empty --store_create()--> version 1 --> ... --store_migrate()--> current version
 *
 * Each migration is a transaction, which first reads the version again. So several processes may migrate at
 * the same time, and a crash leaves a complete version. */
#include "store/sqlite/migrations.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/file_owner.h"
#include "base/seam.h"
#include "store/sqlite/days_fill.h"
#include "store/sqlite/db.h"
#include "store/sqlite/diagnosis.h"
#include "store/replace.h"
#include "store/sqlite/sqlite_queries.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MIGRATE_TIMEOUT_MS = 30000, /* how long to wait for other processes that migrate at the same time */
    WAL_RETRY_MS = 20,
};

/* The file is not world-readable, because the database contains key hashes and private data. SQLite gives its
 * other files the same owner and permissions. Another process may create the file at the same time. */
static enum err create_file(const char *path, struct error *error)
{
    int fd = file_open_or_create_like(path, path, 0640);
    if (fd < 0 && errno == ELOOP)
        return error_set(
            error, ERR_READONLY,
            "cannot create the database %s: it is a symbolic link to a file that does not exist; "
            "name that file in [store] path, or delete the link",
            path);
    if (fd < 0)
        return error_set(error, errno == ENOSPC ? ERR_FULL : ERR_READONLY,
                         "cannot create the database %s: %s", path, strerror(errno));
    (void)close(fd);
    return OK;
}

/* Rolls back if a transaction is open. Returns `err` or, if `err` is OK, the result of the rollback. If the
 * rollback fails (out of memory), the caller closes the connection, which also ends the transaction. */
static enum err end_transaction(struct db *db, enum err err)
{
    enum err end = db_in_transaction(db) ? db_exec(db, SQL_ROLLBACK) : OK;
    return err ? err : end;
}

static enum err read_identity(struct db *db, struct schema_identity *out)
{
    *out = (struct schema_identity){0};
    enum err err = db_exec_i64(db, SQL_APPLICATION_ID, &out->application_id);
    if (err)
        return err;
    err = db_exec_i64(db, SQL_USER_VERSION, &out->version);
    if (err)
        return err;
    err = db_exec_i64(db, SQL_COUNT_SCHEMA, &out->objects);
    if (err || out->version <= schema_migration_count || out->application_id != SCHEMA_APPLICATION_ID)
        return err;
    return db_exec_i64(db, SQL_COMPATIBLE_SINCE, &out->compatible_since);
}

enum err schema_read_identity(struct db *db, struct schema_identity *out)
{
    enum err err = db_exec(db, SQL_BEGIN_READ);
    if (err)
        return err;
    return end_transaction(db, read_identity(db, out));
}

bool schema_is_too_new(const struct schema_identity *identity)
{
    return identity->version > schema_migration_count &&
           (identity->compatible_since <= 0 || identity->compatible_since > schema_migration_count);
}

enum err schema_check(struct db *db, const char *path, bool creates, struct schema_identity *identity,
                      struct error *error)
{
    enum err err = schema_read_identity(db, identity);
    if (err)
        return diagnose_failure(err, path, error);
    bool empty = identity->application_id == 0 && identity->objects == 0 && identity->version == 0;
    if (identity->application_id != SCHEMA_APPLICATION_ID && !empty)
        return diagnose_foreign(path, error);
    if (schema_is_too_new(identity))
        return diagnose_newer(path, identity, error);
    if (empty && !creates)
        return diagnose_empty(path, error);
    return OK;
}

enum err store_check_identity(const char *path, struct error *error)
{
    struct db db;
    struct schema_identity identity;
    enum err err = diagnose_path(path, error);
    if (err)
        return err;
    err = db_open(&db, path);
    if (err)
        return diagnose_failure(err, path, error);
    db_keep_existing_log(&db);
    err = schema_check(&db, path, false, &identity, error);
    db_close(&db);
    return err;
}

/* Retries, because SQLite returns "busy" without calling the busy handler if two connections change the mode
 * at the same time. */
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

/* Returns the version of the newest migration that is not additive, among `m` and the migrations before
 * it. */
static int compatible_since(const struct schema_migration *m)
{
    while (m->is_additive)
        m--;
    return m->version;
}

/* Applies the migration in the open transaction, commits it, and sets `*applied` to true. Does nothing if the
 * schema already has the version of the migration. */
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
    err = db_exec_with_i64(db, SQL_SET_COMPATIBLE_SINCE, compatible_since(m));
    if (err)
        return err;
    *applied = true;
    return db_exec(db, SQL_COMMIT);
}

struct migrating {
    const struct migration_observer *observer;
    const struct schema_migration *migration;
};

static bool on_step(void *ctx)
{
    const struct migrating *m = ctx;
    m->observer->on_migration(m->observer->ctx, m->migration, false);
    return true;
}

static enum err apply(struct db *db, struct migrating *m, bool *applied)
{
    int64_t version;
    enum err err = db_exec_i64(db, SQL_USER_VERSION, &version);
    /* If no migration is pending, do not wait for a writer. */
    if (err || version >= m->migration->version)
        return err;
    err = db_exec(db, SQL_BEGIN);
    if (err)
        return err;
    const struct store_progress progress = {on_step, m};
    if (m->observer) {
        (void)on_step(m);
        db_set_progress(db, &progress);
    }
    err = end_transaction(db, apply_in_transaction(db, m->migration, applied));
    db_set_progress(db, NULL);
    *applied = *applied && !err;
    /* If there are videos, migration 018 is only complete after days_fill(), which reports it. */
    bool fills = false;
    if (*applied && m->migration->version == DAYS_MIGRATION)
        err = days_fill_is_pending(db, &fills);
    if (*applied && m->observer && !fills)
        m->observer->on_migration(m->observer->ctx, m->migration, true);
    seam_kill_point();
    return err;
}

static enum err apply_all(struct db *db, const struct migration_observer *observer, int *count)
{
    enum err err = enter_wal_mode(db);
    if (err)
        return err;
    err = db_exec(db, SQL_SETUP);
    for (int i = 0; !err && i < schema_migration_count; i++) {
        bool applied = false;
        err = apply(db, &(struct migrating){observer, &schema_migrations[i]}, &applied);
        *count += applied;
    }
    return err;
}

static enum err migrate_open(struct db *db, const char *path, bool creates,
                             const struct migration_observer *observer, int *count, bool *fills,
                             struct error *error)
{
    struct schema_identity identity;
    db_set_busy_timeout(db, MIGRATE_TIMEOUT_MS);
    enum err err = schema_check(db, path, creates, &identity, error);
    if (err)
        return err;
    err = db_is_readonly(db) ? ERR_READONLY : apply_all(db, observer, count);
    if (!err)
        err = days_fill_is_pending(db, fills);
    return err ? diagnose_failure(err, path, error) : OK;
}

static enum err migrate_file(const char *path, bool creates, const struct migration_observer *observer,
                             int *count, struct error *error)
{
    struct db db;
    bool fills = false;
    enum err err = db_open(&db, path);
    if (err)
        return diagnose_failure(err, path, error);
    err = migrate_open(&db, path, creates, observer, count, &fills, error);
    db_close(&db);
    if (err || !fills)
        return err;
    *count += *count == 0; /* migration 018 was applied earlier, and is now completed */
    return days_fill(path, observer, error);
}

enum err migrations_apply(const char *path, const struct migration_observer *observer, int *count,
                          struct error *error)
{
    *count = 0;
    enum err err = diagnose_path(path, error);
    if (err)
        return err;
    return migrate_file(path, false, observer, count, error);
}

enum err store_migrate(const char *path, int *count, struct error *error)
{
    return migrations_apply(path, NULL, count, error);
}

enum err store_create(const char *path, int *count, struct error *error)
{
    *count = 0;
    enum err err = diagnose_path(path, error);
    if (err == ERR_NOT_FOUND && !database_replace_was_interrupted(path) && !diagnose_directory(path, error))
        err = create_file(path, error);
    if (err)
        return err;
    return migrate_file(path, true, NULL, count, error);
}

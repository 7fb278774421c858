/* The engine SQLite: opens and closes a store, and runs its transactions. */
#include "store/sqlite/sqlite_store.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/engine.h"
#include "store/late_reads.h"
#include "store/sqlite/diagnosis.h"
#include "store/sqlite/migrations.h"
#include "store/sqlite/sqlite_queries.h"

#include <stdlib.h>

/* The maximum wait for a lock while a store is opened: another process may be recovering the log after a
 * crash, or closing the database. */
enum { OPEN_TIMEOUT_MS = 10000 };

/* Number of pages in the log (250 MiB) above which a commit makes a checkpoint even if there are checkpoint
 * jobs. */
enum { CHECKPOINT_PAGES = 64000 };

/* Checks that the file is a viewtally database with this binary's schema version, or with a newer version
 * that this binary can use. */
static enum err check_schema(struct db *db, const char *path, struct error *error)
{
    struct schema_identity identity;
    enum err err = schema_read_identity(db, &identity);
    if (err)
        return diagnose_failure(err, path, error);
    if (identity.application_id == 0 && identity.objects == 0)
        return diagnose_empty(path, error);
    if (identity.application_id != SCHEMA_APPLICATION_ID)
        return diagnose_foreign(path, error);
    if (schema_is_too_new(&identity))
        return diagnose_newer(path, &identity, error);
    if (identity.version < schema_migration_count)
        return error_set(error, ERR_VERSION,
                         "%s has schema version %lld and this binary needs %d: run `viewtally migrate`", path,
                         (long long)identity.version, schema_migration_count);
    return OK;
}

static enum err set_up(struct db *db)
{
    bool wal;
    enum err err = db_exec_text(db, SQL_WAL, "wal", &wal);
    if (err)
        return err;
    /* WAL mode needs a file system with shared memory. */
    if (!wal)
        return ERR_IO;
    return db_exec(db, SQL_SETUP);
}

static enum err make_ready(struct store *s, const struct store_options *o)
{
    if (db_is_readonly(sqlite_db_of(s)))
        return ERR_READONLY;
    enum err err = set_up(sqlite_db_of(s));
    if (err)
        return err;
    /* This PRAGMA must precede db_prepare(), because it invalidates prepared statements. */
    if (o->mode == STORE_READ && (err = db_exec(sqlite_db_of(s), SQL_QUERY_ONLY)) != OK)
        return err;
    err = db_prepare(sqlite_db_of(s));
    if (err)
        return err;
    err = store_load(s);
    if (err)
        return err;
    if (o->loop)
        s->driver = late_reads_new(o->loop);
    db_map_wal_index(sqlite_db_of(s));
    if (o->checkpointed)
        db_set_checkpoint_pages(sqlite_db_of(s), CHECKPOINT_PAGES);
    db_set_busy_timeout(sqlite_db_of(s), o->mode == STORE_READ ? 0 : o->busy_timeout_ms);
    return OK;
}

static enum err open_database(struct store *s, const struct store_options *o, struct error *error)
{
    enum err err = db_open(sqlite_db_of(s), o->path);
    if (err)
        return diagnose_failure(err, o->path, error);
    db_set_busy_timeout(sqlite_db_of(s), o->busy_timeout_ms ? o->busy_timeout_ms : OPEN_TIMEOUT_MS);
    err = check_schema(sqlite_db_of(s), o->path, error);
    if (err)
        return err;
    err = make_ready(s, o);
    return err ? diagnose_failure(err, o->path, error) : OK;
}

static enum err sqlite_open(struct store **out, const struct store_options *options, struct error *error)
{
    enum err err = diagnose_path(options->path, error);
    if (err)
        return err;
    struct sqlite_store *opened = xcalloc(1, sizeof *opened);
    struct store *s = &opened->store;
    CHECK(opened->path = strdup(options->path));
    opened->import_lock.fd = -1;
    store_init(s, &store_sqlite_engine, &opened->db.sql);
    err = open_database(s, options, error);
    if (err) {
        store_close(s);
        return err;
    }
    *out = s;
    return OK;
}

static void sqlite_close(struct store *s)
{
    late_reads_close(s->driver);
    sqlite_release_import_lock(s);
    db_close(sqlite_db_of(s));
    free(((struct sqlite_store *)s)->path);
}

/* Uses BEGIN IMMEDIATE, which waits for another writer. In a transaction that begins with a read, the first
 * write would not wait but fail. */
static enum err begin(struct store *s)
{
    return sql_run(s->sql, sql_use(s->sql, QUERY_BEGIN_WRITE));
}

static enum err begin_snapshot(struct store *s)
{
    return sql_run(s->sql, sql_use(s->sql, QUERY_BEGIN_READ));
}

static enum err commit(struct store *s)
{
    return sql_run(s->sql, sql_use(s->sql, QUERY_COMMIT));
}

/* After some errors, such as a full disk, SQLite itself has rolled back the transaction. */
static void rollback(struct store *s)
{
    if (sql_run(s->sql, sql_use(s->sql, QUERY_ROLLBACK)))
        CHECK(!sql_in_transaction(s->sql));
}

static enum err read_clock(struct store *s, int64_t *now_ms)
{
    (void)s;
    *now_ms = clock_wall_ms();
    return OK;
}

static bool has_changed(struct store *s, uint64_t *seen)
{
    const uint64_t version = db_get_version(sqlite_db_of(s)), before = *seen;
    *seen = version;
    return version != before;
}

static struct store_log_state get_log_state(struct store *s)
{
    const struct db_log log = db_get_log_state(sqlite_db_of(s));
    return (struct store_log_state){.pages = log.pages, .pending = log.pending};
}

static enum err checkpoint(struct store *s, enum checkpoint_mode mode)
{
    return db_checkpoint(sqlite_db_of(s), mode);
}

static enum err prepare_erasure(struct store *s)
{
    return db_exec(sqlite_db_of(s), SQL_PREPARE_ERASURE);
}

const struct store_engine store_sqlite_engine = {
    .open = sqlite_open,
    .close = sqlite_close,
    .begin = begin,
    .begin_snapshot = begin_snapshot,
    .commit = commit,
    .rollback = rollback,
    .read_clock = read_clock,
    .has_changed = has_changed,
    .resolve_key = sqlite_resolve_key,
    .find_changes = sqlite_find_changes,
    .read_batch = 1,
    .has_daily = true,
    .prepare_erasure = prepare_erasure,
    .share_import_lock = sqlite_share_import_lock,
    .try_import_lock = sqlite_try_import_lock,
    .release_import_lock = sqlite_release_import_lock,
    .checkpoint = checkpoint,
    .get_log_state = get_log_state,
};

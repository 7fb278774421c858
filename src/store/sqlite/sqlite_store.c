/* Opens and closes an SQLite store, and runs work in a snapshot. */
#include "store/sqlite/sqlite_store.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/erase.h"
#include "store/sqlite/diagnosis.h"
#include "store/sqlite/migrations.h"
#include "store/stored_floor.h"
#include "store/write.h"

#include <stdlib.h>

/* Opening waits for another process that is recovering the log after a crash, or closing it. */
enum { OPEN_TIMEOUT_MS = 10000 };

/* Number of pages in the log (256 MiB) above which a commit makes a checkpoint even if there are checkpoint
 * jobs. */
enum { LOG_LIMIT_PAGES = 64000 };

/* Checks that the file is a viewtally database with exactly this binary's schema version. */
static enum err check_schema(struct db *db, const char *path, struct error *error)
{
    struct schema_identity is;
    enum err err = schema_read_identity(db, &is);
    if (err)
        return diagnose_failure(err, path, error);
    if (is.application_id == 0 && is.objects == 0)
        return diagnose_empty(path, error);
    if (is.application_id != SCHEMA_APPLICATION_ID)
        return diagnose_foreign(path, error);
    if (schema_is_too_new(&is))
        return diagnose_newer(path, &is, error);
    if (is.version < schema_migration_count)
        return error_set(error, ERR_VERSION,
                         "%s has schema version %lld and this binary needs %d: run `viewtally migrate`", path,
                         (long long)is.version, schema_migration_count);
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

static enum err load_id(struct store *s)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_STORE_ID);
    enum err err = sql_one(s->sql, q);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_CORRUPT : err;
    if (!sql_bytes(q, 0, s->id, sizeof s->id))
        err = sql_report_damage(s->sql, "store_id");
    sql_reset(q);
    return err;
}

static enum err load_expiry_floor(struct store *s)
{
    struct expiry_state state;
    enum err err = store_get_expiry_floor(s, &state);
    if (err)
        return err;
    if (state.floor_ms)
        expiry_raise_floor(state.floor_ms, clock_mono_ms());
    return OK;
}

static enum err make_ready(struct store *s, const struct store_options *o)
{
    if (db_is_readonly(sqlite_db_of(s)))
        return ERR_READONLY;
    enum err err = set_up(sqlite_db_of(s));
    if (err)
        return err;
    /* Must precede db_prepare(), because it invalidates prepared statements. */
    if (o->mode == STORE_READ && (err = db_exec(sqlite_db_of(s), SQL_QUERY_ONLY)) != OK)
        return err;
    err = db_prepare(sqlite_db_of(s));
    if (err)
        return err;
    err = load_id(s);
    if (err)
        return err;
    err = load_expiry_floor(s);
    if (err)
        return err;
    db_map_wal_index(sqlite_db_of(s));
    if (o->checkpointed)
        db_set_log_limit(sqlite_db_of(s), LOG_LIMIT_PAGES);
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

enum err store_open(struct store **out, const struct store_options *options, struct error *error)
{
    enum err err = diagnose_path(options->path, error);
    if (err)
        return err;
    struct sqlite_store *opened = xcalloc(1, sizeof *opened);
    struct store *s = &opened->store;
    s->sql = &opened->db.sql;
    buf_init(&s->packed_posts, PACKED_MAX_BYTES);
    buf_init(&s->packed_milestones, PACKED_MAX_BYTES);
    buf_init(&s->packed_days, PACKED_MAX_BYTES);
    buf_init(&s->packed_recent, PACKED_MAX_BYTES);
    err = open_database(s, options, error);
    if (err) {
        store_close(s);
        return err;
    }
    *out = s;
    return OK;
}

void store_close(struct store *s)
{
    db_close(sqlite_db_of(s));
    buf_fini(&s->packed_posts);
    buf_fini(&s->packed_milestones);
    buf_fini(&s->packed_days);
    buf_fini(&s->packed_recent);
    VEC_FREE(&s->days);
    free(s);
}

const uint8_t *store_id(const struct store *s)
{
    return s->id;
}

void store_set_slow_query_ms(int64_t ms)
{
    db_set_slow_query_ms(ms);
}

bool store_has_changed(struct store *s, uint64_t *seen)
{
    const uint64_t version = db_get_version(sqlite_db_of(s)), before = *seen;
    *seen = version;
    return version != before;
}

void store_read_begin(struct store_read *read)
{
    read->start_us = clock_work_us();
}

enum next store_read_end(struct store_read *read, enum err err)
{
    const int64_t us = clock_work_us() - read->start_us;
    metrics_observe(&read->store->reads, us);
    read->total_us += us;
    read->err = err;
    return NEXT_MORE;
}

const struct metrics_duration_histogram *store_get_read_times(const struct store *s)
{
    return &s->reads;
}

struct store_log store_get_log_state(struct store *s)
{
    const struct db_log log = db_get_log_state(sqlite_db_of(s));
    return (struct store_log){.pages = log.pages, .pending = log.pending};
}

uint64_t store_get_failure_count(const struct store *s)
{
    return s->sql->failures;
}

enum err store_checkpoint(struct store *s, enum checkpoint_mode mode)
{
    return db_checkpoint(sqlite_db_of(s), mode);
}

enum err store_run_in_snapshot(struct store *s, snapshot_work *work, void *ctx)
{
    if (sql_in_transaction(s->sql))
        return work(s, ctx);
    enum err err = sql_run(s->sql, sql_use(s->sql, QUERY_BEGIN_READ));
    if (err)
        return err;
    err = work(s, ctx);
    store_rollback(s);
    return err;
}

enum err store_prepare_erasure(struct store *s)
{
    return db_exec(sqlite_db_of(s), SQL_PREPARE_ERASURE);
}

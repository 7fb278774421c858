/* Opening and closing. Says in a sentence what the operator has to do; knows no statement of the reads and
 * writes. */
#include "store/handle.h"

#include "base/check.h"
#include "store/stored_floor.h"
#include "base/clock.h"
#include "store/migrations.h"
#include "store/model.h"
#include "store/diagnosis.h"

#include <stdlib.h>

/* Opening also waits for a reader: for the recovery of the log after a crash, for the process that closes it.
 */
enum { OPEN_TIMEOUT_MS = 10000 };

/* Pages (256 MiB) at which commits make checkpoints although there are jobs for that. */
enum { LOG_LIMIT_PAGES = 64000 };

/* The file is a database of ours, of exactly this binary's schema. */
static enum err check_schema(struct db *db, const char *path, const char **why)
{
    struct schema_identity is;
    enum err err = schema_read_identity(db, &is);
    if (err) {
        *why = why_of(err, path);
        return err;
    }
    if (is.application_id == 0 && is.objects == 0) {
        *why = why_empty(path);
        return ERR_VERSION;
    }
    if (is.application_id != SCHEMA_APPLICATION_ID) {
        *why = why_foreign(path);
        return ERR_CORRUPT;
    }
    if (is.version > schema_migration_count) {
        *why = why_newer(path, is.version);
        return ERR_VERSION;
    }
    if (is.version < schema_migration_count) {
        *why = db_sentence("%s has schema version %lld and this binary needs %d: run `viewtally migrate`",
                           path, (long long)is.version, schema_migration_count);
        return ERR_VERSION;
    }
    return OK;
}

static enum err set_up(struct db *db)
{
    bool wal;
    enum err err = db_exec_text(db, SQL_WAL, "wal", &wal);
    if (err)
        return err;
    /* A file system without shared memory cannot have it. */
    if (!wal)
        return ERR_IO;
    return db_exec(db, SQL_SETUP);
}

static enum err load_id(struct store *s)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_STORE_ID);
    enum err err = db_one(&s->db, q);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_CORRUPT : err;
    if (!db_bytes(q, 0, s->id, sizeof s->id))
        err = db_damaged(&s->db, "store_id");
    db_reset(q);
    return err;
}

static enum err load_expiry_floor(struct store *s)
{
    struct expiry_state state;
    enum err err = store_get_expiry(s, &state);
    if (!err && state.floor_ms)
        expiry_raise_floor(state.floor_ms, clock_mono_ms());
    return err;
}

static enum err make_ready(struct store *s, const struct store_options *o)
{
    if (db_is_readonly(&s->db))
        return ERR_READONLY;
    enum err err = set_up(&s->db);
    /* Before the statements: it makes SQLite forget the prepared ones. */
    if (!err && o->mode == STORE_READ)
        err = db_exec(&s->db, SQL_QUERY_ONLY);
    if (!err)
        err = db_prepare(&s->db);
    if (!err)
        err = load_id(s);
    if (!err)
        err = load_expiry_floor(s);
    if (!err)
        db_watch(&s->db);
    if (o->checkpointed)
        db_set_log_limit(&s->db, LOG_LIMIT_PAGES);
    db_set_busy_timeout(&s->db, o->mode == STORE_READ ? 0 : o->busy_timeout_ms);
    return err;
}

enum err store_open(struct store **out, const struct store_options *options, const char **why)
{
    enum err err = why_bad_path(options->path, why);
    if (err)
        return err;
    struct store *s = xcalloc(1, sizeof *s);
    buf_init(&s->packed_posts, PACKED_MAX_BYTES);
    buf_init(&s->packed_milestones, PACKED_MAX_BYTES);
    buf_init(&s->packed_recent, PACKED_MAX_BYTES);
    err = db_open(&s->db, options->path);
    if (err) {
        *why = why_of(err, options->path);
    } else {
        db_set_busy_timeout(&s->db, options->busy_timeout_ms ? options->busy_timeout_ms : OPEN_TIMEOUT_MS);
        err = check_schema(&s->db, options->path, why);
        if (!err && (err = make_ready(s, options)) != OK)
            *why = why_of(err, options->path);
    }
    if (err) {
        store_close(s);
        return err;
    }
    *out = s;
    return OK;
}

void store_close(struct store *s)
{
    db_close(&s->db);
    buf_fini(&s->packed_posts);
    buf_fini(&s->packed_milestones);
    buf_fini(&s->packed_recent);
    free(s->days);
    free(s);
}

const uint8_t *store_id(const struct store *s)
{
    return s->id;
}

uint64_t store_version(struct store *s)
{
    return db_version(&s->db);
}

void store_read_begin(struct store_read *read)
{
    read->start_us = clock_work_us();
}

enum next store_read_end(struct store_read *read, enum err err)
{
    metrics_observe(&read->store->reads, clock_work_us() - read->start_us);
    read->err = err;
    return NEXT_MORE;
}

const struct metrics_times *store_read_times(const struct store *s)
{
    return &s->reads;
}

struct store_log store_log_state(const struct store *s)
{
    const struct db_log log = db_log_state(&s->db);
    return (struct store_log){.pages = log.pages, .pending = log.pending};
}

uint64_t store_failures(const struct store *s)
{
    return s->db.failures;
}

enum err store_checkpoint(struct store *s, enum log_copy how)
{
    static const enum db_checkpoint_mode modes[] = {
        [LOG_AS_FAR] = DB_PASSIVE, [LOG_RESTART] = DB_RESTART, [LOG_EMPTY] = DB_TRUNCATE};
    return db_checkpoint(&s->db, modes[how]);
}

enum err store_snapshot_begin(struct store *s, bool *own)
{
    *own = !db_in_transaction(&s->db);
    return *own ? db_run(&s->db, db_use(&s->db, QUERY_BEGIN_READ)) : OK;
}

void store_snapshot_end(struct store *s, bool own)
{
    if (own && db_in_transaction(&s->db) && db_run(&s->db, db_use(&s->db, QUERY_ROLLBACK)))
        CHECK(!db_in_transaction(&s->db));
}

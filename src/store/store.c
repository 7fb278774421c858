/* The functions of store.h and read.h that call the engine, and the members of a store that all engines
 * share. */
#include "store/store.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/engine.h"
#include "store/erase.h"
#include "store/import_lock.h"
#include "store/move.h"
#include "store/stored_floor.h"
#include "store/write.h"

#include <stdlib.h>

/* ---- opening and closing ---- */

void store_init(struct store *s, const struct store_engine *engine, struct sql *sql)
{
    s->engine = engine;
    s->sql = sql;
    buf_init(&s->packed_posts, PACKED_MAX_BYTES);
    buf_init(&s->packed_milestones, PACKED_MAX_BYTES);
    buf_init(&s->packed_days, PACKED_MAX_BYTES);
    buf_init(&s->packed_recent, PACKED_MAX_BYTES);
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

enum err store_load(struct store *s)
{
    enum err err = load_id(s);
    return err ? err : load_expiry_floor(s);
}

enum err store_open(struct store **out, const struct store_options *options, struct error *error)
{
    const bool has_url = options->url && *options->url;
    struct store *store = NULL;
    enum err err = (has_url ? &store_pg_engine : &store_sqlite_engine)->open(&store, options, error);
    *out = NULL;
    if (err)
        return err;
    /* Skip the check for a store with a loop: the same process also opens the store for writing, and that
     * call checks it. */
    if (!options->opens_incomplete && !options->loop)
        err = move_check_complete(store, has_url ? options->url : options->path, error);
    if (err)
        store_close(store);
    else
        *out = store;
    return err;
}

void store_close(struct store *s)
{
    s->engine->close(s);
    buf_fini(&s->packed_posts);
    buf_fini(&s->packed_milestones);
    buf_fini(&s->packed_days);
    buf_fini(&s->packed_recent);
    VEC_FREE(&s->days);
    free(s);
}

/* ---- state of the database ---- */

const uint8_t *store_id(const struct store *s)
{
    return s->id;
}

enum err store_read_clock(struct store *s, int64_t *now_ms)
{
    return s->engine->read_clock(s, now_ms);
}

bool store_has_changed(struct store *s, uint64_t *seen)
{
    return s->engine->has_changed(s, seen);
}

const struct metrics_duration_histogram *store_get_read_times(const struct store *s)
{
    return &s->reads;
}

uint64_t store_get_failure_count(const struct store *s)
{
    return s->sql->failures;
}

bool store_get_server_status(const struct store *s, struct store_server_status *out)
{
    if (!s->engine->get_server_status)
        return false;
    s->engine->get_server_status(s, out);
    return true;
}

enum err store_read_server_load(struct store *s, struct store_server_load *out)
{
    return s->engine->read_server_load(s, out);
}

struct store_log_state store_get_log_state(struct store *s)
{
    return s->engine->get_log_state ? s->engine->get_log_state(s) : (struct store_log_state){0};
}

enum err store_checkpoint(struct store *s, enum checkpoint_mode mode)
{
    return s->engine->checkpoint ? s->engine->checkpoint(s, mode) : OK;
}

enum err store_prepare_erasure(struct store *s)
{
    return s->engine->prepare_erasure(s);
}

enum err import_lock_share(struct store *s)
{
    return s->engine->share_import_lock(s);
}

enum err import_lock_try_exclusive(struct store *s, bool *acquired)
{
    return s->engine->try_import_lock(s, acquired);
}

void import_lock_release(struct store *s)
{
    s->engine->release_import_lock(s);
}

/* ---- snapshots and late reads ---- */

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

enum next store_resolve_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                            struct key_owner *owner)
{
    return read->store->engine->resolve_key(read, hash, owner);
}

enum next store_find_changes(struct store_read *read, struct list *waiting, struct list *changed)
{
    return read->store->engine->find_changes(read, waiting, changed);
}

enum err store_run_in_snapshot(struct store *s, snapshot_work *work, void *ctx)
{
    if (sql_in_transaction(s->sql))
        return work(s, ctx);
    enum err err = s->engine->begin_snapshot(s);
    if (err)
        return err;
    err = work(s, ctx);
    store_rollback(s);
    return err;
}

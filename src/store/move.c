/* Opens the stores, locks them, and handles the data that are not in moved_tables: copies the settings in
 * `meta`; copies the store's id (keeps_id) or records the original as an ancestor; raises the last event id
 * above all ids that either store has issued. (move_tables.c copies and compares the tables.)
 *
 * While a copy is incomplete, the row "moving" of its table `meta` identifies the original store. The row is
 * deleted at the end. */
#include "store/move.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/file_sync.h"
#include "base/hash.h"
#include "base/seam.h"
#include "store/engine.h"
#include "store/import_lock.h"
#include "store/move_tables.h"
#include "store/moved_rows.h"
#include "store/write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ARENA_BYTES = 4096, ANCESTOR_MAX = 64 };
/* Six seconds in total, because a viewtally server counts as running until 5 s after its last barrier. */
enum { CHECK_PAUSE_MS = 100, CHECKS = 60 };
#define MOVING STR("moving")

static const char *name_of(const struct store_options *options)
{
    return options->url && *options->url ? options->url : options->path;
}

/* ---- the table meta ---- */

static enum err get_meta(struct store *s, struct str key, int64_t *value)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_META);
    sql_bind_text(q, 1, key);
    *value = 0;
    const enum err err = sql_one_i64(s->sql, q, value);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err put_meta(struct store *s, struct str key, int64_t value)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_META_PUT);
    sql_bind_text(q, 1, key);
    sql_bind_i64(q, 2, value);
    return sql_write(s->sql, q);
}

enum err move_check_complete(struct store *s, const char *name, struct error *error)
{
    int64_t moving;
    const enum err err = get_meta(s, MOVING, &moving);
    if (err)
        return error_set(error, err, "%s: database error: %s", name, err_name(err));
    if (!moving)
        return OK;
    return error_set(error, ERR_VERSION,
                     "%s is an incomplete copy: run the same `viewtally move` again, which continues it",
                     name);
}

/* ---- before the copy ---- */

static int64_t id_of(const struct store *s)
{
    return (int64_t)(hash_64(str_make((const char *)store_id(s), STORE_ID_LEN), 0) | 1);
}

static enum err check_empty(struct move *m)
{
    struct moved_row row;
    struct arena arena;
    enum err err = ERR_NOT_FOUND;
    arena_init(&arena, ARENA_BYTES);
    for (int i = 0; i < MOVED_TABLES && err == ERR_NOT_FOUND; i++) {
        err = moved_rows_get_last_key(m->to, &moved_tables[i], &arena, &row);
        if (!err)
            (void)error_set(m->error, ERR_EXISTS,
                            "%s is not empty: its table %s has rows. Nothing was changed", m->to_name,
                            moved_tables[i].name);
    }
    arena_fini(&arena);
    return err == ERR_NOT_FOUND ? OK : err ? err : ERR_EXISTS;
}

/* Marks the copy as incomplete, or finds the mark of an interrupted move. */
static enum err mark(struct move *m)
{
    int64_t moving;
    enum err err = get_meta(m->to, MOVING, &moving);
    if (err)
        return err;
    m->result->resumed = moving != 0;
    if (moving && moving != id_of(m->from))
        return error_set(m->error, ERR_EXISTS,
                         "%s is an incomplete copy of a different database, not of %s. Nothing was changed",
                         m->to_name, m->from_name);
    if (moving)
        return OK;
    err = check_empty(m);
    return err ? err : put_meta(m->to, MOVING, id_of(m->from));
}

static enum err mark_in_transaction(struct move *m)
{
    enum err err = store_begin(m->to);
    if (!err)
        err = move_end(m, mark(m));
    return err ? move_fail(m, m->to_name, err) : OK;
}

/* ---- after the copy ---- */

static enum err copy_meta(struct move *m)
{
    struct sql_statement *q = sql_use(m->from->sql, QUERY_MOVE_META);
    enum err err;
    while (sql_row(m->from->sql, q, &err)) {
        err = put_meta(m->to, sql_text(q, 0), sql_i64(q, 1));
        if (err) {
            sql_reset(q);
            return err;
        }
    }
    return err;
}

/* Records `from` as an ancestor of the copy, so that restoring a backup of `from` over the copy applies all
 * rules of carry.h. */
static enum err record_ancestor(struct move *m)
{
    char key[ANCESTOR_MAX];
    size_t len = (size_t)snprintf(key, sizeof key, "ancestor:");
    for (int i = 0; i < STORE_ID_LEN; i++)
        len += (size_t)snprintf(key + len, sizeof key - len, "%02X", store_id(m->from)[i]);
    return put_meta(m->to, str_make(key, len), clock_wall_ms());
}

static enum err read_last_event_id(struct store *s, int64_t *last)
{
    return sql_one_i64(s->sql, sql_use(s->sql, QUERY_LAST_EVENT_ID), last);
}

/* Makes future event ids higher than all ids that either store has issued. The ids of `to` matter because
 * move_replace() has replaced its data: the deleted data may have had higher ids than `from`. */
static enum err raise_event_id(struct move *m)
{
    int64_t last = clock_wall_ms(), from, to;
    enum err err = read_last_event_id(m->from, &from);
    if (!err)
        err = read_last_event_id(m->to, &to);
    if (err)
        return err;
    last = from > last ? from : last;
    last = to > last ? to : last;
    struct sql_statement *q = sql_use(m->to->sql, QUERY_SET_LAST_EVENT_ID);
    sql_bind_i64(q, 1, last);
    return sql_write(m->to->sql, q);
}

static enum err copy_store_id(struct move *m)
{
    struct sql_statement *q = sql_use(m->to->sql, QUERY_MOVE_STORE_ID);
    sql_bind_bytes(q, 1, str_make((const char *)store_id(m->from), STORE_ID_LEN));
    return sql_write(m->to->sql, q);
}

static enum err complete_in_transaction(struct move *m)
{
    enum err err = sql_write(m->to->sql, sql_use(m->to->sql, QUERY_MOVE_CLEAR_META));
    if (!err)
        err = copy_meta(m);
    if (!err)
        err = m->options->keeps_id ? copy_store_id(m) : record_ancestor(m);
    if (!err)
        err = raise_event_id(m);
    return err ? err : sql_write(m->to->sql, sql_use(m->to->sql, QUERY_MOVE_END));
}

static enum err complete(struct move *m)
{
    enum err err = store_begin(m->to);
    if (!err)
        err = move_end(m, complete_in_transaction(m));
    return err ? move_fail(m, m->to_name, err) : OK;
}

static enum err compare_snapshots(struct store *to, void *ctx)
{
    (void)to;
    return move_compare_tables(ctx);
}

/* Compares a snapshot of `to` with the open snapshot or transaction of `from`. */
static enum err compare(struct store *from, void *ctx)
{
    struct move *m = ctx;
    (void)from;
    const enum err err = store_run_in_snapshot(m->to, compare_snapshots, m);
    return err ? move_fail(m, m->to_name, err) : OK;
}

/* ---- moving and verifying ---- */

static enum err begin_from(struct move *m)
{
    return m->options->from_snapshot ? m->from->engine->begin_snapshot(m->from) : store_begin(m->from);
}

static enum err fail_same(struct move *m)
{
    return error_set(m->error, ERR_INVALID, "%s and %s are the same database or copies of each other",
                     m->from_name, m->to_name);
}

static enum err copy(struct move *m)
{
    if (memcmp(store_id(m->from), store_id(m->to), STORE_ID_LEN) == 0)
        return fail_same(m);
    /* Marks the copy first: if `from` is locked, the empty `to` must not pass for a complete copy. */
    enum err err = mark_in_transaction(m);
    if (err)
        return err;
    err = begin_from(m);
    if (err)
        return move_fail(m, m->from_name, err);
    err = move_copy_tables(m);
    if (!err)
        err = compare(m->from, m);
    if (!err)
        err = complete(m);
    store_rollback(m->from);
    return err;
}

/* Compares the names of the stores, because a backup has the same id as its database. */
static enum err verify(struct move *m)
{
    if (strcmp(m->from_name, m->to_name) == 0)
        return fail_same(m);
    const enum err err = store_run_in_snapshot(m->from, compare, m);
    return err ? move_fail(m, m->from_name, err) : OK;
}

static enum err run_opened(struct move *m, enum err (*work)(struct move *m))
{
    enum err err = sql_prepare_rare(m->from->sql);
    if (err)
        return move_fail(m, m->from_name, err);
    err = sql_prepare_rare(m->to->sql);
    return err ? move_fail(m, m->to_name, err) : work(m);
}

static enum err open_target(struct move *m, const struct store_options *to)
{
    const enum err err = m->options->create ? m->options->create(to, m->error) : OK;
    if (err)
        return err;
    *m->error = (struct error){.code = OK}; /* create() can set it and succeed */
    return store_open(&m->to, to, m->error);
}

static enum err run(const struct move_options *options, bool opens_incomplete,
                    enum err (*work)(struct move *m), struct move_result *result, struct error *error)
{
    struct store_options to = options->to;
    struct move m = {.options = options,
                     .from_name = name_of(&options->from),
                     .to_name = name_of(&options->to),
                     .result = result,
                     .error = error};
    to.opens_incomplete = opens_incomplete;
    *result = (struct move_result){.copied = 0};
    enum err err = store_open(&m.from, &options->from, error);
    if (err)
        return err;
    err = open_target(&m, &to);
    if (!err) {
        err = run_opened(&m, work);
        store_close(m.to);
    }
    store_close(m.from);
    return err;
}

enum err move_store(const struct move_options *options, struct move_result *result, struct error *error)
{
    return run(options, true, copy, result, error);
}

enum err move_verify(const struct move_options *options, struct move_result *result, struct error *error)
{
    return run(options, false, verify, result, error);
}

static bool step_progress(void *ctx, const struct move_progress *progress)
{
    const struct store_progress *p = ctx;
    (void)progress;
    return p->step(p->ctx);
}

enum err move_back_up(const struct store_options *from, const char *to, const struct store_progress *progress,
                      struct error *error)
{
    struct store_progress copy = progress ? *progress : (struct store_progress){0};
    const struct move_options options = {.from = *from,
                                         .to = {.path = to, .mode = STORE_WRITE},
                                         .from_snapshot = true,
                                         .keeps_id = true,
                                         .observer = progress ? step_progress : NULL,
                                         .ctx = &copy};
    struct move_result result;
    int count;
    enum err err = store_create(to, &count, error);
    if (!err)
        err = move_store(&options, &result, error);
    /* The last connection to `to` has been closed, so its write-ahead log is gone. */
    if (!err)
        err = store_verify(to, progress, error);
    if (err || file_sync(to))
        return err;
    return error_set(error, ERR_IO, "%s cannot be written: %s", to, strerror(errno));
}

/* ---- replacing the data of the target ---- */

static enum err replace_opened(struct move *m)
{
    enum err err = sql_prepare_rare(m->from->sql);
    if (!err)
        err = begin_from(m);
    if (err)
        return move_fail(m, m->from_name, err);
    err = sql_prepare_rare(m->to->sql);
    if (!err)
        err = m->to->engine->clear(m->to, m->error);
    if (!err)
        err = move_copy_tables(m);
    if (!err)
        err = move_compare_tables(m);
    if (!err)
        err = complete_in_transaction(m);
    store_rollback(m->from);
    return err ? move_fail(m, m->to_name, err) : OK;
}

static enum err replace_in_transaction(struct move *m, const struct move_replacement *r)
{
    enum err err = r->fill(r->ctx, m->error);
    if (!err)
        err = store_open(&m->from, &m->options->from, m->error);
    if (err)
        return err;
    err = replace_opened(m);
    store_close(m->from);
    return err || r->ignores_servers ? err : m->to->engine->check_not_served(m->to, m->error);
}

static enum err replace_and_commit(struct move *m, const struct move_replacement *r, bool *committing)
{
    enum err err = replace_in_transaction(m, r);
    seam_kill_point();
    *committing = !err;
    if (!err)
        err = store_commit(m->to);
    if (err)
        store_rollback(m->to);
    seam_kill_point();
    return err;
}

/* An import remembers row ids of videos, which identify other videos after the replacement. The check for
 * other processes (engine.h: check_replaceable) can overlook an import: an import makes no barriers, unlike a
 * viewtally server, and its URL may set another application_name. */
static enum err lock_imports(struct move *m)
{
    bool acquired;
    enum err err = import_lock_share(m->to);
    if (!err)
        err = import_lock_try_exclusive(m->to, &acquired);
    if (err || acquired)
        return err;
    return error_set(m->error, ERR_BUSY, "an import is running: repeat the command when it has ended");
}

enum err move_replace(const struct move_replacement *r, bool *committing, struct error *error)
{
    struct move_result result = {.copied = 0};
    struct move_options options = {
        .from = {.path = r->from, .mode = STORE_READ}, .to = r->to, .from_snapshot = true, .keeps_id = true};
    struct move m = {.options = &options,
                     .from_name = r->from,
                     .to_name = name_of(&r->to),
                     .is_one_transaction = true,
                     .result = &result,
                     .error = error};
    options.to.opens_incomplete = true;
    *committing = false;
    *error = (struct error){.code = OK};
    enum err err = store_open(&m.to, &options.to, error);
    if (err)
        return err;
    err = lock_imports(&m);
    if (!err)
        err = store_begin(m.to);
    if (!err)
        err = replace_and_commit(&m, r, committing);
    store_close(m.to); /* releases the import lock */
    return err ? move_fail(&m, m.to_name, err) : OK;
}

enum err move_check_replaceable(const struct store_options *to, struct error *error)
{
    const struct timespec pause = {.tv_nsec = CHECK_PAUSE_MS * 1000000L};
    struct store_options options = *to;
    struct store *s;
    options.opens_incomplete = true;
    enum err err = store_open(&s, &options, error);
    if (err)
        return err;
    err = s->engine->check_replaceable(s, error);
    for (int i = 0; i < CHECKS && err == ERR_BUSY; i++) {
        (void)nanosleep(&pause, NULL);
        err = s->engine->check_replaceable(s, error);
    }
    store_close(s);
    return err;
}

/* One run over the spool: first the files that an earlier run did not finish, then the pending ones. If one
 * file fails (unreadable, still being written), the run continues with the next. If the cause concerns all
 * files (database, full disk), the run ends, and the next run continues where it stopped. */
#include "refresh/spool.h"

#include "base/clock.h"
#include "base/log.h"
#include "import/finalizing.h"
#include "refresh/spool_finish.h"
#include "refresh/spool_import.h"
#include "store/import_lock.h"
#include "store/store_config.h"
#include "store/stored_floor.h"

enum { ARENA_BLOCK = 64 * 1024, UNREADABLE_MAX = 3, ERROR_TEXT_MAX = 1024 };

/* --- pending files --- */

/* Applies a file, unless an earlier run has applied all of it. If the file is applied, sets
 * s->file.applied_at. */
static enum err apply_file(const struct spool_dir *dir, struct spool_import *s, struct str name,
                           struct arena *a)
{
    enum err err = spool_dir_open_file(dir, name, &s->fd, &s->file.identity);
    if (err == ERR_IO || err == ERR_READONLY || err == ERR_NOT_FOUND)
        return OK; /* skip the file; errors other than ERR_NOT_FOUND are logged */
    if (err)
        return err;
    err = spool_import_load(s, a);
    if (err)
        return err;
    return s->file.applied_at == TIME_NONE ? spool_import_apply(s) : OK;
}

/* Returns OK if `err` probably concerns only this file, so that the run continues with the next one.
 * Otherwise returns the error that ends the run: from the fourth unreadable file on `err`, because then the
 * disk is at fault. The heartbeat fails if the database is at fault, or if the run is canceled. */
static enum err skip_unreadable_file(struct run *run, struct str name, enum err err, int *unreadable)
{
    if (err != ERR_IO || ++*unreadable > UNREADABLE_MAX)
        return err;
    err = run_heartbeat(run);
    if (!err)
        log_error("spool: %.*s could not be read or applied (input/output error); the next run tries again",
                  (int)name.len, name.p);
    return err;
}

static enum err apply_each(struct run *run, const struct spool_dir *dir, const struct spool_list *list,
                           struct applied_files *applied)
{
    struct arena arena;
    enum err err = OK, file_err = OK;
    int unreadable = 0;
    arena_init(&arena, ARENA_BLOCK);
    for (size_t i = 0; !err && i < list->count; i++) {
        struct spool_import s;
        arena_reset(&arena);
        err = run_heartbeat(run);
        if (err)
            break;
        spool_import_init(&s, run, list->entries[i].name);
        err = apply_file(dir, &s, list->entries[i].name, &arena);
        if (!err && s.file.applied_at != TIME_NONE) {
            s.file.name = list->entries[i].name; /* the name in the list outlives the arena */
            err = spool_finish_file(run, dir, &s.file, s.stored_errors, applied);
        } else if (err) {
            file_err = err;
            err = skip_unreadable_file(run, list->entries[i].name, err, &unreadable);
        }
        spool_import_fini(&s);
    }
    arena_fini(&arena);
    return err ? err : file_err;
}

static enum err apply_waiting(struct run *run, const struct spool_dir *dir)
{
    struct arena names;
    struct spool_list list;
    struct applied_files applied = {.count = 0};
    arena_init(&names, ARENA_BLOCK);
    enum err err = spool_dir_list(dir, &names, &list);
    if (err)
        (void)run_fail(run, err, "cannot list the spool directory: %s", err_name(err));
    else
        err = apply_each(run, dir, &list, &applied);
    /* Finish the batch even after a file has failed. After a cancellation, the next run does this. */
    if (err != ERR_CANCELED) {
        const enum err finish_err = spool_finish_batch(run, dir, &applied);
        err = err ? err : finish_err;
    }
    arena_fini(&names);
    return err;
}

/* --- files that an earlier run did not finish --- */

static enum err resume_file(struct run *run, const struct spool_dir *dir, const struct spool_file *file)
{
    struct applied_files applied = {.count = 0};
    struct file_identity now;
    int64_t errors = 0;
    /* An earlier release did not encode names that are not UTF-8 (spool_records.c). On PostgreSQL, their
     * bytes were replaced by U+FFFD, which has three bytes. */
    if (file->name.len > SPOOL_NAME_MAX) {
        log_warn("spool: the record of a file is deleted, because no file of the spool has such a long name");
        return spool_delete_record(run, file);
    }
    enum err err = spool_dir_identify(dir, file->name, &now);
    const bool exists = !err && file_identity_eq(&now, &file->identity);
    if (err && err != ERR_NOT_FOUND)
        return run_fail(run, err, "spool: cannot check whether %.*s is still in the spool: %s",
                        (int)file->name.len, file->name.p, err_name(err));
    err = store_spool_count_errors(run_store(run), file->row, &errors);
    if (err)
        return run_fail_database(run, err);
    if (file->applied_at == TIME_NONE) {
        if (exists)
            return OK; /* apply_waiting() continues it */
        log_warn("spool: %.*s was removed or replaced before all of it was applied", (int)file->name.len,
                 file->name.p);
        return spool_delete_record(run, file);
    }
    err = spool_finish_file(run, dir, file, errors, &applied);
    return err ? err : spool_finish_batch(run, dir, &applied);
}

static enum err resume_all(struct run *run, const struct spool_dir *dir)
{
    struct spool_file file = {.row = 0};
    struct arena arena;
    enum err err = OK;
    arena_init(&arena, ARENA_BLOCK);
    while (!err) {
        arena_reset(&arena);
        err = store_spool_next(run_store(run), &arena, file.row, &file);
        if (err == ERR_NOT_FOUND)
            break;
        err = err ? run_fail_database(run, err) : resume_file(run, dir, &file);
    }
    arena_fini(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- finalizing that an import has left over, because it was killed or lost the lease --- */

struct left_over {
    struct run *run;
    bool more;
};

static enum err finalize_some(struct store *store, void *ctx)
{
    struct left_over *l = ctx;
    struct finalizing_result result = {0};
    return finalizing_apply_batch(store, run_rules(l->run), FINALIZING_BATCH_MAX, &result, &l->more);
}

static enum err finalize_all(struct run *run)
{
    struct left_over l = {.run = run};
    enum err err = import_lock_try_exclusive(run_store(run), &l.more);
    if (err)
        return run_fail_database(run, err);
    while (l.more && !err)
        err = run_transact(run, finalize_some, &l);
    return err;
}

static enum err finalize_left_over(struct run *run)
{
    struct pending_video any;
    size_t count = 0;
    enum err err = store_list_pending_videos(run_store(run), &any, 1, &count);
    if (!err && !count)
        return OK;
    if (err)
        return run_fail(run, err, "cannot finalize videos of an unfinished import: %s", err_name(err));
    err = finalize_all(run);
    import_lock_release(run_store(run));
    return err;
}

/* --- files that were applied long ago --- */

/* The clock may be wrong by years, so files are deleted only if they are old according to the stored expiry
 * floor (base/expiry_floor.h), too. The floor is 0 if no server has used this database yet. */
static void prune_done(struct run *run, const struct spool_dir *dir)
{
    struct expiry_state expiry;
    const int64_t days = run_config(run)->refresh.keep_done_days;
    int64_t now = clock_wall_ms();
    if (!days || store_get_expiry_floor(run_store(run), &expiry))
        return;
    if (expiry.floor_ms && expiry.floor_ms < now)
        now = expiry.floor_ms;
    spool_dir_prune_finished(dir, now - days * DAY_MS);
}

/* --- the refresh source `spool` --- */

static enum err open_dir(struct run *run, struct spool_dir *dir)
{
    struct buf why;
    buf_init(&why, ERROR_TEXT_MAX);
    const enum err err = spool_dir_open(dir, run_config(run)->refresh.spool_dir, &why);
    if (err)
        (void)run_fail(run, err, "%.*s", (int)why.len, why.p);
    buf_fini(&why);
    return err;
}

static enum err run_spool(struct run *run)
{
    struct spool_dir dir;
    enum err err = open_dir(run, &dir);
    if (err)
        return err;
    err = resume_all(run, &dir);
    if (!err)
        err = apply_waiting(run, &dir);
    if (!err)
        err = finalize_left_over(run);
    if (!err)
        prune_done(run, &dir);
    spool_dir_close(&dir);
    return err;
}

/* Returns true if the database has a record of a file. A process that was killed after moving a file may have
 * left the file's record. */
static bool has_records(const struct config *config)
{
    const struct store_options options = store_options_from_config(config, STORE_READ);
    struct spool_file file;
    struct store *store;
    struct arena arena;
    if (store_open(&store, &options, NULL))
        return false;
    arena_init(&arena, ARENA_BLOCK);
    const enum err err = store_spool_next(store, &arena, 0, &file);
    arena_fini(&arena);
    store_close(store);
    return err == OK;
}

static bool has_work(const struct config *config)
{
    return spool_dir_has_any(config->refresh.spool_dir) || has_records(config);
}

static bool backlog(const struct config *config, struct source_backlog *out)
{
    struct spool_list list;
    struct arena arena;
    *out = (struct source_backlog){0};
    arena_init(&arena, ARENA_BLOCK);
    const bool listed = spool_dir_scan(config->refresh.spool_dir, &arena, &list);
    for (size_t i = 0; listed && i < list.count; i++) {
        out->files++;
        out->bytes += list.entries[i].identity.size;
    }
    arena_fini(&arena);
    return listed;
}

const struct source spool_source = {
    .kind = SOURCE_SPOOL,
    .has_work = has_work,
    .backlog = backlog,
    .run = run_spool,
};

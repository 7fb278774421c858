/* One run over the spool: first what an earlier run has left behind, then file by file what waits. What fails
 * for one file (it cannot be read, it is still being written) is no reason not to take the next; what fails
 * for all (the database, a full disk) ends the run, and the next one goes on where it stopped. */
#include "refresh/spool.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "import/finalizing.h"
#include "import/import_lock.h"
#include "refresh/run.h"
#include "refresh/spool_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ARENA_BLOCK = 64 * 1024, NAME_TEXT_MAX = 512, FAILURES_MAX = 3 };

struct bad_line {
    int64_t line;
    struct str reason;
};

/* Files that are applied and wait to be moved away. */
enum { FINISHED_MAX = 100 };

struct finished {
    struct spool_file files[FINISHED_MAX];
    size_t count;
};

/* The file at work. */
struct taking {
    struct run *run;
    const struct spool_dir *dir;
    struct spool_file file;
    int fd;
    bool looked_at;       /* the file was still as it was when all of it had been read */
    bool changed;         /* it was not */
    int64_t listed;       /* bad lines in the database */
    struct arena reasons; /* of those that are not there yet: */
    struct bad_line *lines;
    size_t count, cap;
};

/* --- bad lines -------------------------------------------------------------------------------------------
 */

static void on_bad_line(void *ctx, int64_t line, struct str reason)
{
    struct taking *t = ctx;
    /* One more than the report holds, so that it can say that there are more. */
    if (t->listed + (int64_t)t->count > SPOOL_ERRORS_MAX)
        return;
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->lines = xrealloc(t->lines, t->cap * sizeof t->lines[0]);
    }
    const struct str last = t->count ? t->lines[t->count - 1].reason : STR("");
    t->lines[t->count++] =
        (struct bad_line){line, str_eq(last, reason) ? last : arena_copy(&t->reasons, reason)};
}

/* In the open transaction. A line that was found bad before the process died is found again: it stays one. */
static enum err save_bad_lines(struct taking *t, struct store *store)
{
    enum err err = OK;
    for (size_t i = 0; i < t->count && !err; i++) {
        bool added;
        err = store_spool_add_error(store, t->file.row, t->lines[i].line, t->lines[i].reason, &added);
        t->listed += added;
    }
    t->count = 0;
    arena_reset(&t->reasons);
    return err;
}

/* --- what is known of the file, with each transaction ----------------------------------------------------
 */

/* Who renames a file into the spool has finished it. Who writes it there is waited for: nothing is applied
 * before the file has been read to its end and is still what it was before. */
static bool is_unchanged(struct taking *t)
{
    struct file_identity now;
    if (t->looked_at)
        return true;
    t->looked_at = !spool_file_has_writer(t->fd) && spool_file_identify(t->fd, &now) == OK &&
                   file_identity_eq(&now, &t->file.identity);
    t->changed = !t->looked_at;
    return t->looked_at;
}

static enum err insert_row(struct taking *t, struct store *store)
{
    struct spool_file old;
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK);
    enum err err = store_spool_find(store, &arena, t->file.name, &old);
    if (!err)
        err = store_spool_delete(store, old.row);
    else if (err == ERR_NOT_FOUND)
        err = OK;
    arena_fini(&arena);
    return err ? err : store_spool_insert(store, &t->file);
}

static enum err save(struct taking *t, struct store *store)
{
    enum err err = t->file.row ? OK : insert_row(t, store);
    if (!err)
        err = save_bad_lines(t, store);
    return err ? err : store_spool_save(store, &t->file);
}

static enum err on_commit(void *ctx, struct store *store, const struct import_position *last)
{
    struct taking *t = ctx;
    if (!is_unchanged(t))
        return ERR_CANCELED;
    if (last) {
        t->file.step_at = last->observed_at;
        t->file.step_author = last->author;
    }
    return save(t, store);
}

/* A transaction of its own around `write`. */
static enum err in_transaction(struct taking *t, enum err (*write)(struct taking *t, struct store *store))
{
    enum err err = run_begin(t->run);
    if (err)
        return err;
    err = write(t, run_store(t->run));
    if (!err)
        return run_commit(t->run);
    run_rollback(t->run);
    return run_fail_database(t->run, err);
}

static enum err write_row(struct taking *t, struct store *store)
{
    return save(t, store);
}

static enum err delete_row(struct taking *t, struct store *store)
{
    return store_spool_delete(store, t->file.row);
}

/* --- moving it away --------------------------------------------------------------------------------------
 */

struct reporting {
    struct store *store;
    int64_t row;
    FILE *out;
    int64_t lines;
};

static bool write_line(void *ctx, int64_t line, struct str reason)
{
    struct reporting *r = ctx;
    if (++r->lines > SPOOL_ERRORS_MAX)
        return fprintf(r->out, "and more lines, which are not listed\n") > 0;
    return fprintf(r->out, "%lld: %.*s\n", (long long)line, (int)reason.len, reason.p) > 0;
}

static bool write_report(void *ctx, int fd)
{
    struct reporting *r = ctx;
    int own = dup(fd);
    r->out = own < 0 ? NULL : fdopen(own, "w");
    if (!r->out) {
        if (own >= 0)
            (void)close(own);
        return false;
    }
    const bool read = store_spool_list_errors(r->store, r->row, write_line, r) == OK;
    const bool written = !ferror(r->out);
    return fclose(r->out) == 0 && read && written;
}

/* Where the file lies in bad/, wherever the last process died; also when somebody took it away from there. */
static enum err move_to_bad(struct taking *t, struct buf *as)
{
    enum err err = spool_dir_move(t->dir, t->file.name, &t->file.identity, SPOOL_BAD, clock_wall_ms(), as);
    if (err == ERR_NOT_FOUND)
        err = spool_dir_find_bad(t->dir, &t->file.identity, as);
    if (err != ERR_NOT_FOUND)
        return err;
    buf_append(as, t->file.name);
    return OK;
}

static enum err cannot_move(struct run *run, struct str name, enum err err)
{
    return run_fail(run, err, "the spool: %.*s is applied and cannot be moved away: %s", (int)name.len,
                    name.p, err_name(err));
}

/* A file with bad lines is dealt with by itself, */
static enum err conclude_bad(struct taking *t)
{
    struct reporting reporting = {.store = run_store(t->run), .row = t->file.row};
    struct buf as;
    buf_init(&as, NAME_TEXT_MAX);
    enum err err = move_to_bad(t, &as);
    if (!err)
        err = spool_dir_report(t->dir, buf_str(&as), write_report, &reporting);
    if (!err)
        err = spool_dir_sync(t->dir, SPOOL_BAD);
    if (err)
        (void)cannot_move(t->run, t->file.name, err);
    else
        log_warn("spool: %.*s: %lld line%s could not be applied: bad/%.*s.errors", (int)t->file.name.len,
                 t->file.name.p, (long long)t->listed, t->listed == 1 ? "" : "s", (int)as.len, as.p);
    buf_fini(&as);
    return err ? err : in_transaction(t, delete_row);
}

/* the good ones many at a time: syncing directories and a transaction for each would take most of the time.
 */
static enum err delete_rows(struct run *run, const struct finished *f)
{
    enum err err = run_begin(run);
    if (err)
        return err;
    for (size_t i = 0; i < f->count && !err; i++)
        err = store_spool_delete(run_store(run), f->files[i].row);
    if (!err)
        return run_commit(run);
    run_rollback(run);
    return run_fail_database(run, err);
}

static enum err conclude_good(struct run *run, const struct spool_dir *dir, struct finished *f)
{
    enum err err = OK;
    for (size_t i = 0; i < f->count; i++) {
        const struct spool_file *file = &f->files[i];
        err = spool_dir_move(dir, file->name, &file->identity, SPOOL_DONE, clock_wall_ms(), NULL);
        if (err && err != ERR_NOT_FOUND)
            return cannot_move(run, file->name, err);
        log_info("spool: %.*s is applied", (int)file->name.len, file->name.p);
    }
    if (f->count == 0)
        return OK;
    err = spool_dir_sync(dir, SPOOL_DONE);
    if (err)
        return cannot_move(run, f->files[0].name, err);
    err = delete_rows(run, f);
    f->count = 0;
    return err;
}

/* All of the file is applied: out of the spool with it, and then forget it. The name stays with `f`. */
static enum err conclude(struct taking *t, struct finished *f)
{
    if (t->listed)
        return conclude_bad(t);
    f->files[f->count++] = t->file;
    return f->count < FINISHED_MAX ? OK : conclude_good(t->run, t->dir, f);
}

/* --- one file --------------------------------------------------------------------------------------------
 */

static void taking_init(struct taking *t, struct run *run, const struct spool_dir *dir)
{
    *t = (struct taking){.run = run, .dir = dir, .fd = -1};
    arena_init(&t->reasons, ARENA_BLOCK);
}

static void taking_fini(struct taking *t)
{
    if (t->fd >= 0)
        (void)close(t->fd);
    arena_fini(&t->reasons);
    free(t->lines);
}

static enum err read_known(struct taking *t, struct arena *a)
{
    struct spool_file known;
    struct store *store = run_store(t->run);
    enum err err = store_spool_find(store, a, t->file.name, &known);
    if (err == ERR_NOT_FOUND || (!err && !file_identity_eq(&known.identity, &t->file.identity)))
        return OK;
    if (!err)
        err = store_spool_count_errors(store, known.row, &t->listed);
    if (err)
        return run_fail_database(t->run, err);
    t->file = known;
    return OK;
}

static enum err import_file(struct taking *t)
{
    struct import_summary summary;
    const struct import_position after = {.observed_at = t->file.step_at, .author = t->file.step_author};
    char name[SPOOL_NAME_MAX + 1];
    memcpy(name, t->file.name.p, t->file.name.len);
    name[t->file.name.len] = '\0';
    const struct run_file file = {
        .path = name,
        .fd = t->fd,
        .after = t->file.step_at == TIME_NONE ? NULL : &after,
        .ctx = t,
        .on_bad_line = on_bad_line,
        .on_commit = on_commit,
    };
    return run_import_file(t->run, &file, &summary);
}

static enum err apply_all(struct taking *t)
{
    enum err err = import_file(t);
    if (err)
        return err;
    if (!is_unchanged(t))
        return ERR_CANCELED;
    t->file.applied_at = clock_wall_ms();
    return in_transaction(t, write_row);
}

static enum err apply(struct taking *t)
{
    /* Also before: there may be no end to it. */
    t->changed = spool_file_has_writer(t->fd);
    enum err err = t->changed ? OK : apply_all(t);
    if (!t->changed)
        return err;
    log_warn("spool: %.*s is still being written and is left for later: write elsewhere, then rename",
             (int)t->file.name.len, t->file.name.p);
    return OK;
}

static enum err take(struct run *run, const struct spool_dir *dir, struct arena *a, struct str name,
                     struct finished *finished)
{
    struct taking t;
    taking_init(&t, run, dir);
    t.file = (struct spool_file){.name = name, .applied_at = TIME_NONE, .step_at = TIME_NONE};
    enum err err = spool_dir_open_file(dir, name, &t.fd, &t.file.identity);
    if (err == ERR_IO || err == ERR_READONLY || err == ERR_NOT_FOUND) {
        taking_fini(&t);
        return OK; /* told in the log */
    }
    if (!err)
        err = read_known(&t, a);
    if (!err && t.file.applied_at == TIME_NONE)
        err = apply(&t);
    if (!err && t.file.applied_at != TIME_NONE) {
        t.file.name = name;
        err = conclude(&t, finished);
    }
    taking_fini(&t);
    return err;
}

/* --- what an earlier run has left ------------------------------------------------------------------------
 */

static enum err resume(struct run *run, const struct spool_dir *dir, const struct spool_file *file)
{
    struct taking t;
    struct finished finished = {.count = 0};
    struct file_identity now;
    taking_init(&t, run, dir);
    t.file = *file;
    enum err err = spool_dir_identify(dir, file->name, &now);
    const bool there = !err && file_identity_eq(&now, &file->identity);
    if (err == ERR_NOT_FOUND)
        err = OK;
    if (!err)
        err = store_spool_count_errors(run_store(run), file->row, &t.listed);
    if (err)
        (void)run_fail(run, err, "the spool: %s", err_name(err));
    else if (file->applied_at != TIME_NONE)
        err = conclude(&t, &finished);
    else if (!there) {
        log_warn("spool: %.*s went away before all of it was applied", (int)file->name.len, file->name.p);
        err = in_transaction(&t, delete_row);
    }
    taking_fini(&t);
    return err ? err : conclude_good(run, dir, &finished);
}

static enum err resume_all(struct run *run, const struct spool_dir *dir)
{
    struct arena arenas[2]; /* of the file before, whose name is asked from, and of this one */
    struct spool_file file = {.name = STR("")};
    enum err err = OK;
    arena_init(&arenas[0], ARENA_BLOCK);
    arena_init(&arenas[1], ARENA_BLOCK);
    for (int i = 0; !err; i = !i) {
        arena_reset(&arenas[i]);
        err = store_spool_next(run_store(run), &arenas[i], file.name, &file);
        if (err == ERR_NOT_FOUND)
            break;
        err = err ? run_fail_database(run, err) : resume(run, dir, &file);
    }
    arena_fini(&arenas[0]);
    arena_fini(&arenas[1]);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- the source ------------------------------------------------------------------------------------------
 */

/* A file that the disk cannot read keeps no other from being taken; when none can be read any more it is not
 * the file. */
static bool is_for_one(struct run *run, enum err err, int *failures)
{
    if (err != ERR_IO || ++*failures > FAILURES_MAX)
        return false;
    log_error("spool: a file cannot be read and is left for later");
    return run_heartbeat(run) == OK;
}

static enum err take_each(struct run *run, const struct spool_dir *dir, const struct spool_list *list,
                          struct finished *finished)
{
    struct arena arena;
    enum err err = OK, failed = OK;
    int failures = 0;
    arena_init(&arena, ARENA_BLOCK);
    for (size_t i = 0; !err && i < list->count; i++) {
        arena_reset(&arena);
        err = run_heartbeat(run);
        if (!err)
            err = take(run, dir, &arena, list->entries[i].name, finished);
        if (err && is_for_one(run, err, &failures)) {
            failed = err;
            err = OK;
        }
    }
    arena_fini(&arena);
    return err ? err : failed;
}

static enum err take_all(struct run *run, const struct spool_dir *dir)
{
    struct arena names;
    struct spool_list list;
    struct finished finished = {.count = 0};
    arena_init(&names, ARENA_BLOCK);
    enum err err = spool_dir_list(dir, &names, &list);
    if (err)
        (void)run_fail(run, err, "the spool directory cannot be listed: %s", err_name(err));
    else
        err = take_each(run, dir, &list, &finished);
    /* Also after a failure; who was told to stop leaves it to the next run. */
    if (err != ERR_CANCELED) {
        enum err moved = conclude_good(run, dir, &finished);
        err = err ? err : moved;
    }
    arena_fini(&names);
    return err;
}

/* The closing pass that an import leaves to another one, which then died or lost the lease. */
static enum err close_baselines(struct run *run, struct import_lock *lock)
{
    struct finalizing_result closed = {0};
    enum err err = OK;
    bool more = import_lock_try_exclusive(lock);
    while (!err && more) {
        err = run_begin(run);
        if (err)
            return err;
        err = finalizing_pass(run_store(run), run_rules(run), FINALIZING_BATCH_MAX, &closed, &more);
        if (!err) {
            err = run_commit(run);
            continue;
        }
        run_rollback(run);
        (void)run_fail_database(run, err);
    }
    return err;
}

static enum err close_left(struct run *run)
{
    struct pending_video any;
    struct import_lock lock;
    size_t count = 0;
    enum err err = store_list_pending(run_store(run), &any, 1, &count);
    if (!err && !count)
        return OK;
    if (!err)
        err = import_lock_open(&lock, run_config(run)->store.path);
    if (err)
        return run_fail(run, err, "videos of an unfinished import: %s", err_name(err));
    err = close_baselines(run, &lock);
    import_lock_close(&lock);
    return err;
}

static enum err run_spool(struct run *run)
{
    struct spool_dir dir;
    struct buf why;
    buf_init(&why, 2 * NAME_TEXT_MAX);
    enum err err = spool_dir_open(&dir, run_config(run)->refresh.spool_dir, &why);
    if (err)
        (void)run_fail(run, err, "%.*s", (int)why.len, why.p);
    buf_fini(&why);
    if (err)
        return err;
    err = resume_all(run, &dir);
    if (!err)
        err = take_all(run, &dir);
    if (!err)
        err = close_left(run);
    spool_dir_close(&dir);
    return err;
}

/* A process that died between applying a file and the end of it may have left nothing in the directory. */
static bool has_unfinished(const struct config *config)
{
    const struct store_options options = {.path = config->store.path, .mode = STORE_READ};
    struct spool_file file;
    struct store *store;
    struct arena arena;
    if (store_open(&store, &options, NULL))
        return false;
    arena_init(&arena, ARENA_BLOCK);
    enum err err = store_spool_next(store, &arena, STR(""), &file);
    arena_fini(&arena);
    store_close(store);
    return err == OK;
}

static bool has_work(const struct config *config)
{
    return spool_dir_has_any(config->refresh.spool_dir) || has_unfinished(config);
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

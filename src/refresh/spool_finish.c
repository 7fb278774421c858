/* Moves applied files, and writes reports about bad lines. */
#include "refresh/spool_finish.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "refresh/spool_import.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME_TEXT_MAX = 512 };

static enum err fail_move(struct run *run, struct str name, enum err err)
{
    return run_fail(run, err, "spool: %.*s was applied but cannot be moved: %s", (int)name.len, name.p,
                    err_name(err));
}

static enum err delete_records(struct store *store, void *ctx)
{
    const struct applied_files *applied = ctx;
    enum err err = OK;
    for (size_t i = 0; i < applied->count && !err; i++)
        err = store_spool_delete(store, applied->files[i].row);
    return err;
}

static enum err delete_records_of(struct run *run, struct applied_files *applied)
{
    return run_transact(run, delete_records, applied);
}

enum err spool_delete_record(struct run *run, const struct spool_file *file)
{
    struct applied_files one = {.files = {*file}, .count = 1};
    return delete_records_of(run, &one);
}

static enum err finish_each(struct run *run, const struct spool_dir *dir, struct applied_files *applied)
{
    for (size_t i = 0; i < applied->count; i++) {
        const struct spool_file *file = &applied->files[i];
        const enum err err =
            spool_dir_move(dir, file->name, &file->identity, SPOOL_DONE, clock_wall_ms(), NULL);
        if (err && err != ERR_NOT_FOUND)
            return fail_move(run, file->name, err);
        log_info("spool: %.*s applied", (int)file->name.len, file->name.p);
    }
    const enum err err = spool_dir_sync(dir, SPOOL_DONE);
    if (err)
        return run_fail(run, err, "spool: applied files were moved, but the directories cannot be synced: %s",
                        err_name(err));
    return delete_records_of(run, applied);
}

enum err spool_finish_batch(struct run *run, const struct spool_dir *dir, struct applied_files *applied)
{
    const enum err err = applied->count ? finish_each(run, dir, applied) : OK;
    applied->count = 0;
    return err;
}

/* --- files with bad lines --- */

struct report_writer {
    struct store *store;
    int64_t row;
    FILE *out;
    int64_t lines;
};

static bool write_line(void *ctx, int64_t line, struct str reason)
{
    struct report_writer *w = ctx;
    if (++w->lines > SPOOL_ERRORS_MAX)
        return fprintf(w->out, "and more lines, which are not listed\n") > 0;
    return fprintf(w->out, "%" PRId64 ": %.*s\n", line, (int)reason.len, reason.p) > 0;
}

static bool write_report(void *ctx, int fd)
{
    struct report_writer *w = ctx;
    const int own = dup(fd);
    w->out = own < 0 ? NULL : fdopen(own, "w");
    if (!w->out) {
        if (own >= 0)
            (void)close(own);
        return false;
    }
    const bool read = store_spool_list_errors(w->store, w->row, write_line, w) == OK;
    const bool written = !ferror(w->out);
    return fclose(w->out) == 0 && read && written;
}

/* Moves the file to bad/ and appends its name in bad/ to `target`. A process that was killed may have moved
 * the file already, and the file may have been deleted from bad/ since. If the file is in neither place,
 * appends its original name. */
static enum err move_to_bad(const struct spool_dir *dir, const struct spool_file *file, struct buf *target)
{
    enum err err = spool_dir_move(dir, file->name, &file->identity, SPOOL_BAD, clock_wall_ms(), target);
    if (err == ERR_NOT_FOUND)
        err = spool_dir_find_bad(dir, &file->identity, target);
    if (err != ERR_NOT_FOUND)
        return err;
    buf_append(target, file->name);
    return OK;
}

/* Moves the file and writes its report. Appends the name of the file in bad/ to `target`. */
static enum err make_report(struct run *run, const struct spool_dir *dir, const struct spool_file *file,
                            struct buf *target)
{
    struct report_writer writer = {.store = run_store(run), .row = file->row};
    const char *failed = "it cannot be moved to bad/";
    enum err err = move_to_bad(dir, file, target);
    if (!err) {
        failed = "the report of its bad lines cannot be written to bad/";
        err = spool_dir_report(dir, buf_str(target), write_report, &writer);
    }
    if (!err) {
        failed = "the directories cannot be synced after moving it to bad/";
        err = spool_dir_sync(dir, SPOOL_BAD);
    }
    return err ? run_fail(run, err, "spool: %.*s was read, but %s: %s", (int)file->name.len, file->name.p,
                          failed, err_name(err))
               : OK;
}

/* The database contains at most SPOOL_ERRORS_MAX + 1 bad lines of a file. */
static void log_bad_lines(const struct spool_file *file, int64_t errors, const struct buf *target)
{
    const bool more = errors > SPOOL_ERRORS_MAX;
    const int64_t lines = more ? SPOOL_ERRORS_MAX : errors;
    log_warn("spool: %.*s: %s%" PRId64 " line%s could not be applied, see bad/%.*s.errors",
             (int)file->name.len, file->name.p, more ? "more than " : "", lines, plural(lines, "", "s"),
             (int)target->len, target->p);
}

static enum err finish_bad_file(struct run *run, const struct spool_dir *dir, const struct spool_file *file,
                                int64_t errors)
{
    struct buf target;
    buf_init(&target, NAME_TEXT_MAX);
    const enum err err = make_report(run, dir, file, &target);
    if (!err)
        log_bad_lines(file, errors, &target);
    buf_fini(&target);
    return err ? err : spool_delete_record(run, file);
}

enum err spool_finish_file(struct run *run, const struct spool_dir *dir, const struct spool_file *file,
                           int64_t errors, struct applied_files *applied)
{
    if (errors)
        return finish_bad_file(run, dir, file, errors);
    applied->files[applied->count++] = *file;
    return applied->count < APPLIED_MAX ? OK : spool_finish_batch(run, dir, applied);
}

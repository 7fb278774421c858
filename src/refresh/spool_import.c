/* Imports a file in transactions that also store its progress and bad lines. */
#include "refresh/spool_import.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "import/staging.h"

#include <unistd.h>

enum { REASONS_BLOCK = 64 * 1024 };

void spool_import_init(struct spool_import *s, struct run *run, struct str name)
{
    *s = (struct spool_import){.run = run, .fd = -1};
    s->file = (struct spool_file){.name = name, .applied_at = TIME_NONE, .step_at = TIME_NONE};
    arena_init(&s->reasons, REASONS_BLOCK);
}

void spool_import_fini(struct spool_import *s)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    arena_fini(&s->reasons);
    VEC_FREE(&s->bad_lines);
}

enum err spool_import_load(struct spool_import *s, struct arena *a)
{
    struct spool_file known;
    struct store *store = run_store(s->run);
    enum err err = store_spool_find(store, a, s->file.name, &known);
    if (err == ERR_NOT_FOUND)
        return OK;
    if (err)
        return run_fail_database(s->run, err);
    if (!file_identity_eq(&known.identity, &s->file.identity))
        return OK;
    err = store_spool_count_errors(store, known.row, &s->stored_errors);
    if (err)
        return run_fail_database(s->run, err);
    s->file = known;
    return OK;
}

/* --- bad lines --- */

static void on_bad_line(void *ctx, int64_t line, struct str reason)
{
    struct spool_import *s = ctx;
    /* Store one bad line more than the report lists, so that the report can state that it is incomplete. */
    if (s->stored_errors + (int64_t)s->bad_lines.count > SPOOL_ERRORS_MAX)
        return;
    const size_t n = s->bad_lines.count;
    const struct str last = n ? s->bad_lines.items[n - 1].reason : STR("");
    const struct str copy = str_eq(last, reason) ? last : arena_copy(&s->reasons, reason);
    *VEC_ADD(&s->bad_lines) = (struct bad_line){line, copy};
}

/* Stores the bad lines. A rerun after a crash finds lines that are stored already; the store ignores them. */
static enum err store_bad_lines(struct spool_import *s, struct store *store)
{
    enum err err = OK;
    for (size_t i = 0; i < s->bad_lines.count && !err; i++) {
        const struct bad_line *bad = &s->bad_lines.items[i];
        bool added;
        err = store_spool_add_error(store, s->file.row, bad->line, bad->reason, &added);
        s->stored_errors += added;
    }
    s->bad_lines.count = 0;
    arena_reset(&s->reasons);
    return err;
}

/* --- storing the progress --- */

/* Returns true if the file is unchanged and has no writer. Call after reading all of the file. Nothing is
 * applied before this check, because some programs write files directly in the spool instead of renaming
 * complete files into it. */
static bool verify_unchanged(struct spool_import *s)
{
    struct file_identity now;
    if (s->verified)
        return true;
    s->verified = !spool_file_has_writer(s->fd) && spool_file_identify(s->fd, &now) == OK &&
                  file_identity_eq(&now, &s->file.identity);
    s->changed = !s->verified;
    return s->verified;
}

/* Inserts the record of the file. Deletes the record of another file with the same name first. */
static enum err insert_record(struct spool_import *s, struct store *store)
{
    struct spool_file old;
    struct arena arena;
    arena_init(&arena, REASONS_BLOCK);
    enum err err = store_spool_find(store, &arena, s->file.name, &old);
    if (!err)
        err = store_spool_delete(store, old.row);
    else if (err == ERR_NOT_FOUND)
        err = OK;
    if (!err)
        err = store_spool_insert(store, &arena, &s->file);
    arena_fini(&arena);
    return err;
}

static enum err store_progress(struct spool_import *s, struct store *store)
{
    enum err err = s->file.row ? OK : insert_record(s, store);
    if (err)
        return err;
    err = store_bad_lines(s, store);
    return err ? err : store_spool_save(store, &s->file);
}

static enum err on_commit(void *ctx, struct store *store, const struct import_position *last)
{
    struct spool_import *s = ctx;
    if (!verify_unchanged(s))
        return ERR_CANCELED;
    if (last) {
        s->file.step_at = last->observed_at;
        s->file.step_author = last->author;
    }
    return store_progress(s, store);
}

static enum err store_final_progress(struct store *store, void *ctx)
{
    struct spool_import *s = ctx;
    run_count_file(s->run, &s->summary);
    return store_progress(s, store);
}

/* --- importing a file --- */

static void warn_unknown_fields(const struct spool_import *s)
{
    const struct import_summary *summary = &s->summary;
    const long long lines = summary->unknown_field_lines;
    if (lines)
        log_warn("spool: %.*s: ignored unknown fields in %lld line%s, first in line %lld: %s",
                 (int)s->file.name.len, s->file.name.p, lines, plural(lines, "", "s"),
                 (long long)input_line_number(summary->first_unknown_line), summary->first_unknown_field);
}

static enum err import_file(struct spool_import *s)
{
    const struct import_position after = {.observed_at = s->file.step_at, .author = s->file.step_author};
    char name[SPOOL_NAME_MAX + 1];
    memcpy(name, s->file.name.p, s->file.name.len);
    name[s->file.name.len] = '\0';
    const struct run_file file = {
        .path = name,
        .fd = s->fd,
        .after = s->file.step_at == TIME_NONE ? NULL : &after,
        .ctx = s,
        .on_bad_line = on_bad_line,
        .on_commit = on_commit,
    };
    const enum err err = run_import_file(s->run, &file, &s->summary);
    if (!err)
        warn_unknown_fields(s);
    return err;
}

static enum err apply_all(struct spool_import *s)
{
    const struct transaction_scope scope = run_transactions(s->run);
    enum err err = import_file(s);
    if (err)
        return err;
    if (!verify_unchanged(s)) /* not verified yet, because the import had nothing to commit */
        return ERR_CANCELED;
    s->file.applied_at = clock_wall_ms();
    err = transaction_run(&scope, store_final_progress, s);
    return err ? run_fail_database(s->run, err) : OK;
}

enum err spool_import_apply(struct spool_import *s)
{
    /* Check this before reading, too, because a file that is being written may grow without end. */
    s->changed = spool_file_has_writer(s->fd);
    const enum err err = s->changed ? OK : apply_all(s);
    if (!s->changed)
        return err;
    s->file.applied_at = TIME_NONE;
    log_warn("spool: %.*s is still being written and is left for later (write files elsewhere, then rename "
             "them into the spool)",
             (int)s->file.name.len, s->file.name.p);
    return OK;
}

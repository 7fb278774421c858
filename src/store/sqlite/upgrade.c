/* Carries out the plan of a migration; see upgrade.h for the steps. */
#include "store/upgrade.h"

#include "base/clock.h"
#include "base/file_owner.h"
#include "base/file_sync.h"
#include "base/seam.h"
#include "store/sqlite/diagnosis.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TURN_POLL_MS = 50,
    TURN_AUTOMATIC_MS = 30000, /* how long the server, or a command other than migrate, waits for another
                                  process that migrates */
    BACKUP_MODE = 0640,
    DRAFT_MAX = DATABASE_PATH_MAX + 48,
};

struct upgrade {
    struct database_lock *lock;
    const char *path;
    char resolved[DATABASE_PATH_MAX];
    const struct upgrade_options *options;
    struct upgrade_result *result;
    struct migration_plan plan;
    int64_t started_us; /* start of the backup or of the migration */
    const struct schema_migration *running;
};

const char *upgrade_format_ms(int64_t ms, char text[UPGRADE_TEXT_MAX])
{
    if (ms < 10 * SECOND_MS)
        (void)snprintf(text, UPGRADE_TEXT_MAX, "%.1f s", (double)ms / SECOND_MS);
    else if (ms < 3 * MINUTE_MS)
        (void)snprintf(text, UPGRADE_TEXT_MAX, "%lld s", (long long)(ms / SECOND_MS));
    else
        (void)snprintf(text, UPGRADE_TEXT_MAX, "%lld min", (long long)((ms + MINUTE_MS - 1) / MINUTE_MS));
    return text;
}

const char *upgrade_format_bytes(int64_t bytes, char text[UPGRADE_TEXT_MAX])
{
    if (bytes < 1000000000)
        (void)snprintf(text, UPGRADE_TEXT_MAX, "%.1f MB", (double)bytes / 1e6);
    else
        (void)snprintf(text, UPGRADE_TEXT_MAX, "%.1f GB", (double)bytes / 1e9);
    return text;
}

static int64_t elapsed_ms(const struct upgrade *u)
{
    return (clock_work_us() - u->started_us) / 1000;
}

static void report(const struct upgrade *u, const struct upgrade_event *event)
{
    if (u->options->observer)
        u->options->observer(u->options->ctx, event);
}

static bool backs_up(const struct upgrade *u)
{
    return u->options->mode == UPGRADE_COMMAND ||
           (u->options->mode == UPGRADE_AUTOMATIC && !u->plan.is_additive);
}

/* ---- checks before the upgrade ---- */

static enum err check_duration(const struct upgrade *u, struct error *error)
{
    char text[UPGRADE_TEXT_MAX];
    const int64_t ms = migration_plan_ms(&u->plan, backs_up(u));
    if (u->options->mode != UPGRADE_AUTOMATIC || ms <= UPGRADE_AUTOMATIC_MAX_MS)
        return OK;
    return error_set(
        error, ERR_VERSION,
        "the database %s has schema version %lld and must be migrated to version %d, which takes "
        "about %s: run `viewtally migrate`",
        u->path, (long long)u->plan.version, schema_migration_count, upgrade_format_ms(ms, text));
}

static enum err check_space(const struct upgrade *u, struct error *error)
{
    char needed[UPGRADE_TEXT_MAX], available[UPGRADE_TEXT_MAX];
    const int64_t bytes = migration_plan_bytes(&u->plan, backs_up(u));
    if (bytes <= u->plan.free_bytes)
        return OK;
    return error_set(
        error, ERR_FULL,
        "migrating the database %s needs about %s of free disk space%s, but its disk has %s: free "
        "some space%s",
        u->path, upgrade_format_bytes(bytes, needed), backs_up(u) ? ", with a backup" : "",
        upgrade_format_bytes(u->plan.free_bytes, available),
        backs_up(u) ? ", or make a backup on another disk with `viewtally backup FILE` and run "
                      "`viewtally migrate --no-backup`"
                    : "");
}

/* ---- backup before the upgrade ---- */

static enum err fail_backup(const char *path, struct error *error)
{
    int code = errno;
    return error_set(error, code == ENOSPC || code == EDQUOT ? ERR_FULL : ERR_IO,
                     "cannot write the backup %s: %s", path, strerror(code));
}

/* Deletes the draft of a backup. The name of the draft is fixed, so that a killed process leaves at most one
 * draft, which the next process replaces. */
static void remove_draft(const char *draft)
{
    char name[DRAFT_MAX + 16];
    (void)unlink(draft);
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        (void)snprintf(name, sizeof name, "%s%s", draft, replace_companions[i]);
        (void)unlink(name);
    }
}

static bool on_backup_step(void *ctx)
{
    const struct upgrade *u = ctx;
    report(u, &(struct upgrade_event){
                  .stage = UPGRADE_BACKING_UP, .plan = &u->plan, .elapsed_ms = elapsed_ms(u)});
    return true;
}

static enum err fill_draft(struct upgrade *u, const char *draft, struct error *error)
{
    const struct store_progress progress = {on_backup_step, u};
    int fd = file_open_or_create_like(draft, u->resolved, BACKUP_MODE);
    if (fd < 0)
        return fail_backup(draft, error);
    (void)close(fd);
    seam_kill_point();
    enum err err = store_back_up(u->path, draft, &progress, error);
    seam_kill_point();
    return err;
}

static enum err back_up(struct upgrade *u, struct error *error)
{
    char draft[DRAFT_MAX], *backup = u->result->backup;
    (void)snprintf(backup, sizeof u->result->backup, "%s.schema-%lld", u->resolved,
                   (long long)u->plan.version);
    (void)snprintf(draft, sizeof draft, "%s-new", backup);
    remove_draft(draft);
    u->started_us = clock_work_us();
    enum err err = fill_draft(u, draft, error);
    if (!err && (rename(draft, backup) != 0 || !file_sync_directory_of(backup)))
        err = fail_backup(backup, error);
    if (err) {
        remove_draft(draft);
        backup[0] = '\0';
        return err;
    }
    seam_kill_point();
    report(u,
           &(struct upgrade_event){
               .stage = UPGRADE_BACKED_UP, .plan = &u->plan, .backup = backup, .elapsed_ms = elapsed_ms(u)});
    return OK;
}

/* ---- migrations ---- */

static void on_migration(void *ctx, const struct schema_migration *migration, bool is_committed)
{
    struct upgrade *u = ctx;
    const bool is_start = u->running != migration;
    if (is_start) {
        u->running = migration;
        u->started_us = clock_work_us();
    }
    report(u, &(struct upgrade_event){.stage = is_committed ? UPGRADE_APPLIED
                                               : is_start   ? UPGRADE_STARTING
                                                            : UPGRADE_RUNNING,
                                      .plan = &u->plan,
                                      .migration = migration,
                                      .elapsed_ms = elapsed_ms(u)});
}

static enum err carry_out(struct upgrade *u, struct error *error)
{
    const struct migration_observer observer = {on_migration, u};
    report(u, &(struct upgrade_event){.stage = UPGRADE_PLANNED, .plan = &u->plan});
    enum err err = backs_up(u) ? back_up(u, error) : OK;
    return err ? err : migrations_apply(u->path, &observer, &u->result->applied, error);
}

/* ---- waiting for other processes that upgrade ---- */

/* Runs while this process has its turn and holds the database lock shared. Reads the plan again, because
 * another process may have migrated the database while this process waited. */
static enum err upgrade_in_turn(struct upgrade *u, struct error *error)
{
    enum err err = migration_plan_read(u->path, false, &u->plan, error);
    if (err || !u->plan.pending)
        return err;
    err = check_duration(u, error);
    if (!err)
        err = check_space(u, error);
    if (err)
        return err;
    if (u->plan.is_additive)
        return carry_out(u, error);
    err = database_lock_make_exclusive(u->lock, u->path, error);
    if (!err)
        err = carry_out(u, error);
    struct error shared;
    enum err again = database_lock_make_shared(u->lock, u->path, &shared);
    return err || !again ? err : error_set(error, again, "%s", shared.text);
}

static bool wait_for_turn(struct upgrade *u, const struct file_lock *turn)
{
    const struct timespec pause = {.tv_nsec = TURN_POLL_MS * 1000L * 1000L};
    const int64_t until = clock_mono_ms() + TURN_AUTOMATIC_MS;
    report(u, &(struct upgrade_event){.stage = UPGRADE_WAITING});
    while (!file_lock_set(turn, FILE_LOCK_EXCLUSIVE, false)) {
        if (errno != EWOULDBLOCK || (u->options->mode == UPGRADE_AUTOMATIC && clock_mono_ms() > until))
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* A process that waits for its turn must not hold the database lock, because the process that migrates may
 * need it exclusively. */
static enum err take_turn(struct upgrade *u, const struct file_lock *turn, struct error *error)
{
    if (file_lock_set(turn, FILE_LOCK_EXCLUSIVE, false))
        return OK;
    database_lock_pause(u->lock);
    const bool has_turn = wait_for_turn(u, turn);
    const enum err err = database_lock_make_shared(u->lock, u->path, error);
    if (has_turn)
        return err;
    /* If the lock cannot be shared, the process that has the turn holds it for its migration. */
    return error_set(error, ERR_BUSY,
                     "the database %s is being migrated by another process: try again when it has finished",
                     u->path);
}

enum err upgrade_database(struct database_lock *lock, const char *path, const struct upgrade_options *options,
                          struct upgrade_result *result, struct error *error)
{
    struct upgrade u = {.lock = lock, .path = path, .options = options, .result = result};
    char file[DATABASE_PATH_MAX + 16];
    struct file_lock turn;
    *result = (struct upgrade_result){0};
    enum err err = migration_plan_read(path, options->creates, &u.plan, error);
    if (err)
        return err;
    result->version = u.plan.version;
    if (u.plan.version == 0)
        return store_create(path, &result->applied, error);
    if (!u.plan.pending)
        return store_migrate(path, &result->applied, error);
    if (!file_resolve_path(path, u.resolved))
        return error_set(error, ERR_IO, "the database %s: %s", path, strerror(errno));
    (void)snprintf(file, sizeof file, "%s" DATABASE_MIGRATE_ENDING, u.resolved);
    if (!file_lock_open(&turn, file, u.resolved))
        return error_set(error, ERR_READONLY, "cannot open the lock file %s: %s", file, strerror(errno));
    err = take_turn(&u, &turn, error);
    if (!err)
        err = upgrade_in_turn(&u, error);
    file_lock_close(&turn);
    return err;
}

/* Makes a scheduled backup. */
#include "backup/backup_run.h"

#include "backup/backup_dir.h"
#include "backup/backup_file.h"
#include "base/clock.h"
#include "base/file_owner.h"
#include "jobs/lease.h"
#include "store/backups.h"
#include "store/store_config.h"
#include "store/ticket_lock.h"
#include "store/write.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The maximum number of attempts to run a transaction while another process has locked the database. With the
 * default of [store] busy_timeout_ms, all attempts together take one minute. */
enum { LOCKED_TRIES = 6 };

struct making {
    const struct backup_options *options;
    struct backup_report *report;
    struct store *store;
    struct lease lease;
    bool lease_is_lost;
    struct backup_draft draft;
    struct error error;
};

struct slot_rule backup_rule(const struct config *config)
{
    return (struct slot_rule){.period_ms = config->backup.every_ms, .offset_ms = 30 * MINUTE_MS};
}

/* ---- transactions and the lease ---- */

static enum err in_transaction(struct making *m, enum err (*work)(struct making *m))
{
    struct ticket_lock *lock = m->options->write_lock;
    if (lock)
        ticket_lock_acquire(lock);
    enum err err = store_begin(m->store);
    if (!err) {
        err = work(m);
        if (err)
            store_rollback(m->store);
        else
            err = store_commit(m->store);
    }
    if (lock)
        ticket_lock_release(lock);
    return err;
}

static bool is_stopped(const struct making *m)
{
    return m->options->stop && atomic_load(m->options->stop);
}

/* Like in_transaction(), but tries again while another process has locked the database. Otherwise one long
 * transaction would cause a complete backup to be discarded and made again. Returns ERR_TIMEOUT if the
 * database stays locked, or ERR_CANCELED if it was still locked when the backup was stopped. */
static enum err in_transaction_when_unlocked(struct making *m, enum err (*work)(struct making *m))
{
    enum err err = in_transaction(m, work);
    for (int i = 1; i < LOCKED_TRIES && err == ERR_BUSY && !m->lease.is_taken && !is_stopped(m); i++)
        err = in_transaction(m, work);
    if (err != ERR_BUSY || m->lease.is_taken)
        return err;
    if (is_stopped(m))
        return ERR_CANCELED;
    return error_set(&m->error, ERR_TIMEOUT, "another process has locked the database for too long");
}

static enum err acquire(struct making *m)
{
    struct lease_row row;
    const enum err err = lease_acquire(&m->lease, m->store, &row);
    if (m->lease.is_taken)
        error_set(&m->error, err, "another process is making a backup (%s)", row.holder);
    return err;
}

static enum err renew(struct making *m)
{
    return lease_renew(&m->lease, m->store);
}

static enum err release(struct making *m)
{
    return lease_release(&m->lease, m->store);
}

static enum err record_success(struct making *m)
{
    const struct backup_report *r = m->report;
    struct backup_state state = {
        .started_at = r->started_at, .finished_at = r->started_at + r->duration_ms, .bytes = r->bytes};
    (void)snprintf(state.file, sizeof state.file, "%s", r->file);
    const enum err err = release(m);
    return err ? err : store_put_backup_success(m->store, &state);
}

static enum err record_failure(struct making *m)
{
    struct backup_state state = {.failed_at = clock_wall_ms()};
    (void)snprintf(state.error, sizeof state.error, "%s", m->error.text);
    const enum err err = release(m);
    return err ? err : store_put_backup_failure(m->store, &state);
}

/* ---- making and publishing the backup ---- */

/* Called during the copy and the verification. Renews the lease if it is due. If the renewal fails because
 * the database is busy, the next call tries again. Returns false if the backup must end, because it was
 * stopped or has lost the lease. */
static bool on_progress(void *ctx)
{
    struct making *m = ctx;
    if (is_stopped(m))
        return false;
    if (lease_renewal_is_due(&m->lease) && in_transaction(m, renew) == ERR_CANCELED)
        m->lease_is_lost = true;
    return !m->lease_is_lost;
}

/* Selects the name of the backup. The name contains the time started_at. If that name is in use, because the
 * clock has been set back, selects the first unused name of a later second. */
static enum err choose_name(struct making *m, char target[FILE_PATH_MAX])
{
    struct backup_report *r = m->report;
    const char *directory = m->options->config->backup.directory;
    const uint32_t id = backup_id_of(store_id(m->store));
    char path[PATH_MAX];
    bool taken = true;
    for (int64_t t = r->started_at; taken; t += SECOND_MS) {
        backup_name_format(t, id, r->file);
        const int n = snprintf(path, sizeof path, "%s/%s", directory, r->file);
        if (n < 0 || (size_t)n >= sizeof path)
            return error_set(&m->error, ERR_INVALID, "the path of [backup] directory is too long");
        taken = access(path, F_OK) == 0;
    }
    return file_target_resolve(path, target, &m->error);
}

/* If root makes the backup, gives the draft the owner of the directory, so that the server can read it. */
static void adopt_owner(const struct making *m)
{
    const int fd = open(m->draft.path, O_RDONLY | O_CLOEXEC);
    const int at = open(m->options->config->backup.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && at >= 0)
        (void)file_owner_inherit(fd, at);
    if (fd >= 0)
        (void)close(fd);
    if (at >= 0)
        (void)close(at);
}

static enum err publish(struct making *m)
{
    struct stat st;
    const bool found = stat(m->draft.path, &st) == 0;
    const enum err err = in_transaction_when_unlocked(m, renew);
    if (err || !found) {
        backup_draft_discard(&m->draft);
        m->lease_is_lost = err == ERR_CANCELED && !is_stopped(m);
        return err ? err : error_set(&m->error, ERR_IO, "%s was deleted", m->draft.path);
    }
    m->report->bytes = st.st_size;
    adopt_owner(m);
    return backup_draft_publish(&m->draft, false, &m->error);
}

static enum err make(struct making *m)
{
    const struct config *c = m->options->config;
    const struct store_progress progress = {.step = on_progress, .ctx = m};
    const struct store_options from = store_options_from_config(c, STORE_READ);
    char target[FILE_PATH_MAX];
    struct backup_list list;
    enum err err = backup_dir_list(c->backup.directory, &list, &m->error);
    VEC_FREE(&list.entries);
    if (err)
        return err;
    backup_dir_delete_drafts(c->backup.directory, backup_id_of(store_id(m->store)));
    err = choose_name(m, target);
    if (!err && store_config_is_file(c))
        err = backup_check_space(c->store.path, target,
                                 "keep fewer backups ([backup] keep_hourly, keep_daily, keep_weekly)",
                                 &m->error);
    if (!err)
        err = backup_draft_make(&m->draft, &from, target, &progress, &m->error);
    return err ? err : publish(m);
}

/* Deletes old backups, including those that were made but not recorded in the database. */
static void prune(struct making *m)
{
    const struct config *c = m->options->config;
    struct error error = {0};
    struct backup_list list;
    const struct backup_pruning pruning = {
        .directory = c->backup.directory,
        .rule = {c->backup.keep_hourly, c->backup.keep_daily, c->backup.keep_weekly},
        .now_ms = clock_wall_ms() + SECOND_MS,
    };
    enum err err = backup_dir_list(c->backup.directory, &list, &error);
    if (!err && (err = backup_dir_select_own(&list, m->store)) != OK)
        error_set(&error, err, "old backups were not deleted: %s", err_name(err));
    if (!err)
        m->report->pruned = backup_dir_prune(&pruning, &list, &error);
    VEC_FREE(&list.entries);
    (void)snprintf(m->report->warning, sizeof m->report->warning, "%s", error.text);
}

/* ---- running under the lease ---- */

static enum err check_if_due(struct making *m, bool *due)
{
    struct backup_state state;
    *due = true;
    if (!m->options->rule)
        return OK;
    const enum err err = store_get_backup_state(m->store, &state);
    *due = !err && slot_is_due(m->options->rule, clock_wall_ms(), state.started_at);
    return err;
}

static enum err run_with_lease(struct making *m)
{
    struct backup_report *r = m->report;
    const int64_t begun_us = clock_work_us();
    r->started_at = clock_wall_ms();
    enum err err = make(m);
    r->duration_ms = (clock_work_us() - begun_us) / 1000;
    if (err) {
        const bool stopped = err == ERR_CANCELED;
        if (!m->lease_is_lost && in_transaction(m, stopped ? release : record_failure) == ERR_CANCELED)
            m->lease_is_lost = true;
        if (m->lease_is_lost)
            error_set(
                &m->error, err,
                "another process has taken over the backup, because this process did not renew its lease in "
                "time");
        return err;
    }
    r->done = true;
    prune(m);
    return in_transaction_when_unlocked(m, record_success);
}

static enum err run(struct making *m)
{
    bool due;
    enum err err = in_transaction_when_unlocked(m, acquire);
    if (err)
        return err;
    err = check_if_due(m, &due);
    if (!err && due)
        return run_with_lease(m);
    const enum err release_err = in_transaction_when_unlocked(m, release);
    return err ? err : release_err;
}

enum err backup_run(const struct backup_options *options, struct backup_report *report)
{
    struct store_options store = store_options_from_config(options->config, STORE_WRITE);
    struct making m = {.options = options, .report = report};
    *report = (struct backup_report){0};
    store.checkpointed = options->write_lock != NULL;
    enum err err = store_open(&m.store, &store, &m.error);
    if (!err) {
        lease_init(&m.lease, LEASE_BACKUP);
        err = run(&m);
        store_close(m.store);
    }
    if (err && !m.error.code)
        error_set(&m.error, err, "database error: %s", err_name(err));
    (void)snprintf(report->why, sizeof report->why, "%s", m.error.text);
    return err;
}

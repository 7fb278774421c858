/* Starts a background job (background_job.h) when a backup is due. */
#include "backup/backup_schedule.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "jobs/background_job.h"

#include <inttypes.h>
#include <stdlib.h>

struct backup_schedule {
    const struct config *config;
    struct store_read read; /* the read of status.state */
    struct waiter read_wait;
    struct background_job job;
    struct config run_config; /* copy for the backup: a reload may change `config` */
    struct slot_rule rule;    /* rule for the backup in progress */
    struct backup_options options;
    struct backup_report report;
    enum err result;
    struct backup_status status;
    void (*completed)(void *ctx);
    void *completed_ctx;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* ---- running a backup ---- */

static void work(void *ctx)
{
    struct backup_schedule *s = ctx;
    s->result = backup_run(&s->options, &s->report);
}

static void pause_after_failure(struct backup_schedule *s)
{
    const int64_t pause_ms = background_job_pause_after_failure(&s->job);
    s->status.failed++;
    log_error("backup: failed: %s; retrying in %lld s", s->report.why, (long long)(pause_ms / SECOND_MS));
}

static void start(struct backup_schedule *s)
{
    config_copy(&s->run_config, s->config);
    s->rule = backup_rule(&s->run_config);
    s->status.running = true;
    const int status = background_job_start(&s->job);
    if (!status)
        return;
    config_fini(&s->run_config);
    s->status.running = false;
    s->report = (struct backup_report){0};
    (void)snprintf(s->report.why, sizeof s->report.why, "cannot start a thread: %s", uv_strerror(status));
    pause_after_failure(s);
}

static void handle_result(struct backup_schedule *s)
{
    const struct backup_report *r = &s->report;
    if (s->result == ERR_BUSY) {
        background_job_pause_while_busy(&s->job);
        return;
    }
    if (s->result == ERR_CANCELED)
        return;
    if (s->result) {
        pause_after_failure(s);
        return;
    }
    background_job_clear_failures(&s->job);
    if (!r->done)
        return;
    s->status.succeeded++;
    log_info("backup: %s: %" PRId64 " bytes in %" PRId64 " ms, %" PRId64 " old backup%s deleted", r->file,
             r->bytes, r->duration_ms, r->pruned, plural(r->pruned, "", "s"));
    if (*r->warning)
        log_warn("backup: %s", r->warning);
    s->completed(s->completed_ctx);
}

/* ---- checking the clock ---- */

static void check_times(struct backup_schedule *s)
{
    struct backup_status *status = &s->status;
    /* After an error, which the database driver has logged, try again in a second. */
    if (s->read.err)
        return;
    const struct slot_rule rule = backup_rule(s->config);
    const int64_t now = clock_wall_ms();
    const int64_t next = slot_next(&rule, now, status->state.started_at);
    /* If no backup is recorded, slot_next() returns `now` at every check. In this case next_at keeps the time
     * of the first check, so that the backup can become overdue. */
    if (next != now || status->next_at == TIME_NONE || status->next_at > now)
        status->next_at = next;
    if (status->next_at <= now && !background_job_is_paused(&s->job))
        start(s);
}

static void on_read(struct waiter *wait)
{
    check_times(LIST_ENTRY(wait, struct backup_schedule, read_wait));
}

static void check_due(void *ctx)
{
    struct backup_schedule *s = ctx;
    s->status.every_ms = s->config->backup.every_ms;
    if (!s->status.enabled || waiter_is_armed(&s->read_wait))
        return;
    if (store_find_backup_state(&s->read, &s->status.state) == NEXT_MORE)
        check_times(s);
}

static void on_ended(void *ctx)
{
    struct backup_schedule *s = ctx;
    config_fini(&s->run_config);
    s->status.running = false;
    handle_result(s);
}

/* ---- opening and closing ---- */

static void on_closed(void *ctx)
{
    struct backup_schedule *s = ctx;
    void (*closed)(void *ctx) = s->closed;
    void *closed_ctx = s->closed_ctx;
    free(s);
    closed(closed_ctx);
}

static const struct background_job_type job_type = {
    .nice = 10,
    .failed_pause_ms = 60 * SECOND_MS,
    .failed_pause_max_ms = HOUR_MS,
    .check = check_due,
    .work = work,
    .ended = on_ended,
    .closed = on_closed,
};

struct backup_schedule *backup_schedule_open(uv_loop_t *loop, const struct config *config,
                                             struct store *store, struct ticket_lock *write_lock,
                                             void (*completed)(void *ctx), void *ctx)
{
    struct backup_schedule *s = xcalloc(1, sizeof *s);
    s->config = config;
    s->read = (struct store_read){.store = store, .wait = &s->read_wait};
    s->read_wait.wake = on_read;
    s->completed = completed;
    s->completed_ctx = ctx;
    s->options = (struct backup_options){
        .config = &s->run_config, .rule = &s->rule, .write_lock = write_lock, .stop = &s->job.stop};
    s->status = (struct backup_status){
        .enabled = *config->backup.directory != '\0',
        .state = {.started_at = TIME_NONE, .finished_at = TIME_NONE, .failed_at = TIME_NONE},
        .next_at = TIME_NONE,
        .every_ms = config->backup.every_ms,
    };
    background_job_open(&s->job, loop, &job_type, s);
    return s;
}

void backup_schedule_close(struct backup_schedule *s, void (*closed)(void *ctx), void *ctx)
{
    s->closed = closed;
    s->closed_ctx = ctx;
    waiter_cancel(&s->read_wait);
    background_job_close(&s->job);
}

const struct backup_status *backup_schedule_status(const struct backup_schedule *s)
{
    return &s->status;
}

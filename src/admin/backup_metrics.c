/* Metrics of scheduled backups. The counters include only the backups of this process. The time, duration and
 * size of the last backup describe the newest backup that any process that uses the database has made. */
#include "admin/backup_metrics.h"

#include "base/clock.h"
#include "base/metrics.h"

enum { OVERDUE_MS = 30 * MINUTE_MS };

bool backup_is_overdue(const struct backup_status *s)
{
    return s->enabled && !s->running && s->next_at != TIME_NONE && clock_wall_ms() - s->next_at > OVERDUE_MS;
}

static void write_ms(struct buf *b, const char *name, const char *help, int64_t ms)
{
    metrics_write_family(b, name, METRICS_GAUGE, help);
    metrics_write_seconds(b, name, NULL, ms == TIME_NONE ? 0 : ms * 1000);
}

static void write_results(struct buf *b, const char *name, const struct metrics_label *labels,
                          uint64_t succeeded, uint64_t failed)
{
    const struct str section = labels ? labels[0].value : (struct str){0};
    for (int i = 0; i < 2; i++) {
        const struct str result = i ? STR("failed") : STR("succeeded");
        metrics_write_value(b, name,
                            labels ? METRICS_LABELS({"section", section}, {"result", result})
                                   : METRICS_LABELS({"result", result}),
                            (int64_t)(i ? failed : succeeded));
    }
}

void backup_metrics_write(const struct backup_status *s, struct buf *b)
{
    const struct backup_state *last = &s->state;
    metrics_write_gauge(b, "viewtally_backup_configured", "1 if [backup] directory is configured.",
                        s->enabled);
    metrics_write_gauge(b, "viewtally_backup_running", "1 while this process makes a scheduled backup.",
                        s->running);
    write_ms(b, "viewtally_backup_interval_seconds", "Configured time between two scheduled backups.",
             s->every_ms);
    write_ms(b, "viewtally_backup_last_success_timestamp_seconds",
             "Unix time at which the newest scheduled backup of any process was complete and verified; 0 if "
             "there was none.",
             last->finished_at);
    write_ms(b, "viewtally_backup_last_duration_seconds",
             "Duration of the newest backup, including its verification; 0 if there was none.",
             last->finished_at == TIME_NONE ? 0 : last->finished_at - last->started_at);
    metrics_write_gauge(b, "viewtally_backup_last_size_bytes", "Size of the newest backup in bytes.",
                        last->bytes);
    write_ms(
        b, "viewtally_backup_next_timestamp_seconds",
        "Unix time at which the next scheduled backup is due; in the past if it is overdue; 0 if unknown.",
        s->next_at);
    metrics_write_family(b, "viewtally_backups_total", METRICS_COUNTER,
                         "Scheduled backups of this process, by result.");
    write_results(b, "viewtally_backups_total", NULL, s->succeeded, s->failed);
}

void ping_metrics_write(const struct admin_view *v, struct buf *b)
{
    static const char name[] = "viewtally_pings_total";
    metrics_write_family(b, name, METRICS_COUNTER,
                         "Requests of this process to a ping_url, by configuration section and result.");
    if (v->refresh_ping)
        write_results(b, name, METRICS_LABELS({"section", STR("refresh")}),
                      ping_get_counts(v->refresh_ping)->succeeded, ping_get_counts(v->refresh_ping)->failed);
    if (v->backup_ping)
        write_results(b, name, METRICS_LABELS({"section", STR("backup")}),
                      ping_get_counts(v->backup_ping)->succeeded, ping_get_counts(v->backup_ping)->failed);
}

/* Metrics of the refresh. The counters include only the runs of this process. The time of the last successful
 * run is the time of the newest such run of any process that uses the database. */
#include "admin/refresh_metrics.h"

#include "base/clock.h"
#include "base/metrics.h"

enum { OVERDUE_MS = 30 * MINUTE_MS, RUN_OVERDUE_MS = HOUR_MS };

bool refresh_is_overdue(const struct schedule_state *s)
{
    if (!s->enabled || s->next_at == TIME_NONE)
        return false;
    /* If another process has a run in progress, this process tries again and again to start one, so
     * `running` and `run_started_at` describe only the last attempt. */
    const int64_t begun_at = s->other_is_running ? s->other_found_at : s->run_started_at;
    const bool is_in_time = (s->running || s->other_is_running) && begun_at - s->next_at <= OVERDUE_MS;
    return clock_wall_ms() - s->next_at > (is_in_time ? RUN_OVERDUE_MS : OVERDUE_MS);
}

static void write_time(struct buf *b, const char *name, const char *help, int64_t t_ms)
{
    metrics_write_family(b, name, METRICS_GAUGE, help);
    metrics_write_seconds(b, name, NULL, t_ms == TIME_NONE ? 0 : t_ms * 1000);
}

static void write_runs(const struct schedule_state *s, struct buf *b)
{
    metrics_write_gauge(b, "viewtally_refresh_configured", "1 if [refresh] source is configured.",
                        s->enabled);
    metrics_write_gauge(b, "viewtally_refresh_running", "1 while a run is in progress in this process.",
                        s->running);
    write_time(
        b, "viewtally_refresh_last_success_timestamp_seconds",
        "Unix time at which the newest complete run (succeeded or partial, not only of the spool) of any "
        "process finished; 0 if there was none.",
        s->last_finished_at);
    write_time(b, "viewtally_refresh_next_timestamp_seconds",
               "Unix time at which the next run is due; 0 if unknown.", s->next_at);
    metrics_write_family(b, "viewtally_refresh_last_duration_seconds", METRICS_GAUGE,
                         "Duration of the last run of this process; 0 if there was none.");
    metrics_write_seconds(b, "viewtally_refresh_last_duration_seconds", NULL,
                          s->duration_ms < 0 ? 0 : s->duration_ms * 1000);
    metrics_write_family(b, "viewtally_refresh_runs_total", METRICS_COUNTER,
                         "Finished runs of this process, by result.");
    for (int i = 0; i < RUN_STATES; i++)
        metrics_write_value(b, "viewtally_refresh_runs_total",
                            METRICS_LABELS({"result", str_from_cstr(run_state_name((enum run_state)i))}),
                            s->runs[i]);
}

static void write_accepted(const struct schedule_state *s, struct buf *b)
{
    metrics_write_family(b, "viewtally_refresh_readings_accepted_total", METRICS_COUNTER,
                         "Readings applied by runs of this process, by source and platform.");
    for (int source = 0; source < SOURCE_KINDS; source++)
        for (int platform = 0; platform < PLATFORM_COUNT; platform++)
            metrics_write_value(
                b, "viewtally_refresh_readings_accepted_total",
                METRICS_LABELS({"source", str_from_cstr(source_name((enum source_kind)source))},
                               {"platform", platform_name((enum platform)platform)}),
                s->counts.n[source][platform][RUN_ACCEPTED]);
}

static void write_rejected(const struct schedule_state *s, struct buf *b)
{
    metrics_write_family(b, "viewtally_refresh_readings_rejected_total", METRICS_COUNTER,
                         "Readings rejected by runs of this process, by reason.");
    for (int i = RUN_REJECTED + REJECTION_NONE + 1; i < RUN_REJECTED + REJECTION_KINDS; i++) {
        struct str unused,
            reason = str_cut(str_from_cstr(run_counter_name((enum run_counter)i)), ':', &unused);
        metrics_write_value(b, "viewtally_refresh_readings_rejected_total",
                            METRICS_LABELS({"reason", reason}),
                            refresh_count(&s->counts, (enum run_counter)i));
    }
}

void refresh_metrics_write(const struct schedule_state *s, struct buf *b)
{
    write_runs(s, b);
    write_accepted(s, b);
    write_rejected(s, b);
    metrics_write_counter(b, "viewtally_refresh_spool_lines_rejected_total",
                          "Lines of spool files that could not be applied.",
                          (uint64_t)refresh_count(&s->counts, RUN_BAD_LINES));
    metrics_write_counter(b, "viewtally_refresh_spool_unknown_field_lines_total",
                          "Lines of spool files that contained an unknown field, which was ignored.",
                          (uint64_t)refresh_count(&s->counts, RUN_UNKNOWN_FIELDS));
    metrics_write_counter(b, "viewtally_refresh_videos_updated_total",
                          "Videos updated by runs of this process.",
                          (uint64_t)refresh_count(&s->counts, RUN_VIDEOS));
    metrics_write_family(b, "viewtally_refresh_events_total", METRICS_COUNTER,
                         "Events created by runs of this process, by type.");
    metrics_write_value(b, "viewtally_refresh_events_total",
                        METRICS_LABELS({"type", STR("video.went_viral")}),
                        refresh_count(&s->counts, RUN_VIRAL_EVENTS));
    metrics_write_value(b, "viewtally_refresh_events_total",
                        METRICS_LABELS({"type", STR("video.milestone_reached")}),
                        refresh_count(&s->counts, RUN_MILESTONE_EVENTS));
}

/* What the schedule knows, as metrics. What this process's runs did; those of other processes are on their
 * pages, but the time of the last run is that of any of them. */
#include "admin/refresh_metrics.h"

#include "base/clock.h"
#include "base/metrics.h"

enum { LATE_MS = 30 * MINUTE_MS };

bool refresh_is_overdue(const struct schedule_state *s)
{
    return s->enabled && s->next_at != TIME_NONE && clock_wall_ms() - s->next_at > LATE_MS;
}

static void write_time(struct buf *b, const char *name, const char *help, int64_t t_ms)
{
    metrics_family(b, name, METRICS_GAUGE, help);
    metrics_seconds(b, name, NULL, t_ms == TIME_NONE ? 0 : t_ms * 1000);
}

static void write_runs(const struct schedule_state *s, struct buf *b)
{
    metrics_gauge(b, "viewtally_refresh_configured", "1: [refresh] source names one.", s->enabled);
    metrics_gauge(b, "viewtally_refresh_running", "1: a run is at work in this process.", s->running);
    write_time(b, "viewtally_refresh_last_success_timestamp_seconds",
               "When the newest whole run of any process was finished, in seconds since 1970; 0: not yet.",
               s->last_finished_at);
    write_time(b, "viewtally_refresh_next_timestamp_seconds",
               "When the next run is due, in seconds since 1970; 0: not known.", s->next_at);
    metrics_family(b, "viewtally_refresh_last_duration_seconds", METRICS_GAUGE,
                   "How long the last run of this process took; 0: there was none.");
    metrics_seconds(b, "viewtally_refresh_last_duration_seconds", NULL,
                    s->duration_ms < 0 ? 0 : s->duration_ms * 1000);
    metrics_family(b, "viewtally_refresh_runs_total", METRICS_COUNTER,
                   "Runs of this process that have ended, by outcome.");
    for (int i = 0; i < RUN_STATES; i++)
        metrics_value(b, "viewtally_refresh_runs_total",
                      METRICS_LABELS({"outcome", str_from_cstr(run_state_name((enum run_state)i))}),
                      s->runs[i]);
}

static void write_accepted(const struct schedule_state *s, struct buf *b)
{
    metrics_family(b, "viewtally_refresh_readings_accepted_total", METRICS_COUNTER,
                   "Readings that runs of this process applied, by source and platform.");
    for (int source = 0; source < SOURCE_KINDS; source++)
        for (int platform = 0; platform < PLATFORM_COUNT; platform++)
            metrics_value(b, "viewtally_refresh_readings_accepted_total",
                          METRICS_LABELS({"source", str_from_cstr(source_name((enum source_kind)source))},
                                         {"platform", platform_name((enum platform)platform)}),
                          s->counts.n[source][platform][RUN_ACCEPTED]);
}

static void write_refused(const struct schedule_state *s, struct buf *b)
{
    metrics_family(b, "viewtally_refresh_readings_refused_total", METRICS_COUNTER,
                   "Readings that runs of this process refused, by reason.");
    for (int i = RUN_REFUSED + REFUSAL_NONE + 1; i < RUN_REFUSED + REFUSAL_KINDS; i++) {
        struct str unused,
            reason = str_cut(str_from_cstr(run_counter_name((enum run_counter)i)), ':', &unused);
        metrics_value(b, "viewtally_refresh_readings_refused_total", METRICS_LABELS({"reason", reason}),
                      refresh_count(&s->counts, (enum run_counter)i));
    }
}

void refresh_metrics_write(const struct schedule_state *s, struct buf *b)
{
    write_runs(s, b);
    write_accepted(s, b);
    write_refused(s, b);
    metrics_counter(b, "viewtally_refresh_bad_lines_total", "Lines of spool files that could not be applied.",
                    (uint64_t)refresh_count(&s->counts, RUN_BAD_LINES));
    metrics_counter(b, "viewtally_refresh_videos_total", "Videos that steps of the runs changed.",
                    (uint64_t)refresh_count(&s->counts, RUN_VIDEOS));
    metrics_family(b, "viewtally_refresh_events_total", METRICS_COUNTER,
                   "Events that runs of this process wrote, by type.");
    metrics_value(b, "viewtally_refresh_events_total", METRICS_LABELS({"type", STR("video.went_viral")}),
                  refresh_count(&s->counts, RUN_VIRAL_EVENTS));
    metrics_value(b, "viewtally_refresh_events_total",
                  METRICS_LABELS({"type", STR("video.milestone_reached")}),
                  refresh_count(&s->counts, RUN_MILESTONE_EVENTS));
}

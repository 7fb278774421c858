/* Every metric of the page, part by part. The table in the README says the same for people; a test holds the
 * two together. */
#include "admin/metrics_page.h"

#include "admin/platform_metrics.h"
#include "admin/process_metrics.h"
#include "admin/refresh_metrics.h"
#include "base/build_info.h"
#include "base/log_writer.h"

#include <stdio.h>
#include <sys/stat.h>

static const char *library_version(const char *name)
{
    for (int i = 0; i < build_library_count; i++)
        if (strcmp(build_libraries[i].name, name) == 0)
            return build_libraries[i].version;
    return "";
}

static void write_build(struct buf *b)
{
    metrics_family(b, "viewtally_build_info", METRICS_GAUGE, "Always 1; the labels say what runs.");
    metrics_value(b, "viewtally_build_info",
                  METRICS_LABELS({"version", str_from_cstr(build_version)},
                                 {"commit", str_from_cstr(build_commit)}, {"mode", str_from_cstr(build_mode)},
                                 {"sqlite", str_from_cstr(library_version("sqlite"))},
                                 {"libuv", str_from_cstr(library_version("libuv"))}),
                  1);
}

static void write_server(const struct http_server *server, struct buf *b)
{
    struct http_server_counts c = {0};
    if (server)
        c = http_server_counts(server);
    metrics_gauge(b, "viewtally_http_connections", "Connections of clients that are open.", c.connections);
    metrics_counter(b, "viewtally_http_connections_accepted_total", "Connections that were accepted.",
                    c.accepted);
    metrics_gauge(b, "viewtally_http_connections_waiting",
                  "Listeners on which a connection waits because [server] max_connections is reached.",
                  c.waiting);
    metrics_family(b, "viewtally_http_connections_evicted_total", METRICS_COUNTER,
                   "Idle connections that were closed to make room for a waiting client.");
    metrics_value(b, "viewtally_http_connections_evicted_total", METRICS_LABELS({"state", STR("unused")}),
                  (int64_t)c.evicted_unused);
    metrics_value(b, "viewtally_http_connections_evicted_total", METRICS_LABELS({"state", STR("idle")}),
                  (int64_t)c.evicted_idle);
    metrics_gauge(b, "viewtally_http_requests_in_flight", "Requests begun and not yet answered.",
                  c.requests_in_flight);
    metrics_counter(b, "viewtally_http_requests_refused_total",
                    "Requests that the server answered itself: malformed, too large, too slow, failed.",
                    c.refused);
    metrics_counter(b, "viewtally_http_requests_out_of_memory_total",
                    "Requests given up because there was no memory.", c.without_memory);
}

static void write_limiter(const struct limiter *limiter, struct buf *b)
{
    struct limiter_counts c = limiter_counts(limiter);
    metrics_family(b, "viewtally_limiter_decisions_total", METRICS_COUNTER,
                   "Decisions of the rate limit, by verdict and who made it.");
    for (int i = 0; i < LIMITER_SOURCES; i++) {
        struct str source = str_from_cstr(limiter_source_name((enum limiter_source)i));
        metrics_value(b, "viewtally_limiter_decisions_total",
                      METRICS_LABELS({"verdict", STR("admitted")}, {"source", source}),
                      (int64_t)c.admitted[i]);
        metrics_value(b, "viewtally_limiter_decisions_total",
                      METRICS_LABELS({"verdict", STR("refused")}, {"source", source}), (int64_t)c.refused[i]);
    }
    metrics_gauge(b, "viewtally_limiter_keys", "API keys with a window in this process.", c.keys);
}

static void write_cursors(const struct cursors *cursors, struct buf *b)
{
    struct poll_position_counts c = poll_positions_counts(cursors);
    metrics_family(
        b, "viewtally_events_behind", METRICS_HISTOGRAM,
        "How many of its author's events each poll was behind when it came; 1001 is more than 1000.");
    metrics_sizes_write(b, "viewtally_events_behind", NULL, &c.behind);
    metrics_counter(b, "viewtally_cursors_noted_total", "Positions of polls noted for Redis.", c.noted);
    metrics_counter(b, "viewtally_cursors_dropped_total", "Positions that were lost because Redis was away.",
                    c.dropped);
}

static void write_redis(const struct redis *redis, struct buf *b)
{
    struct redis_counts c = {0};
    if (redis)
        c = redis_counts(redis);
    metrics_gauge(b, "viewtally_redis_configured", "1: [redis] url names one.", redis != NULL);
    metrics_gauge(b, "viewtally_redis_up", "1: connected, and takes commands.", redis && redis_is_up(redis));
    metrics_counter(b, "viewtally_redis_calls_total", "Calls whose answer somebody waits for.", c.calls);
    metrics_counter(b, "viewtally_redis_calls_failed_total",
                    "Calls without a usable answer, the late ones too.", c.failed);
    metrics_counter(b, "viewtally_redis_calls_late_total", "Calls that were not answered within 50 ms.",
                    c.late);
    metrics_family(b, "viewtally_redis_call_duration_seconds", METRICS_HISTOGRAM,
                   "From sending a call to its answer, also if that came late.");
    metrics_times_write(b, "viewtally_redis_call_duration_seconds", NULL, &c.times);
}

static void write_size(struct buf *b, const char *name, const char *help, const char *path,
                       const char *suffix)
{
    char file[1100];
    struct stat st;
    int len = snprintf(file, sizeof file, "%s%s", path, suffix);
    if (len > 0 && (size_t)len < sizeof file && stat(file, &st) == 0)
        metrics_gauge(b, name, help, st.st_size);
    else
        metrics_gauge(b, name, help, 0);
}

static void write_checkpoints(const struct checkpoint_counts *c, struct buf *b)
{
    metrics_gauge(b, "viewtally_store_wal_pages", "Pages in the write-ahead log.", c->log.pages);
    metrics_gauge(b, "viewtally_store_wal_pending_pages", "Those that the database does not have yet.",
                  c->log.pending);
    metrics_gauge(b, "viewtally_store_wal_too_long",
                  "1: the log grows and cannot be emptied, because somebody has been reading for long.",
                  c->too_long);
    metrics_counter(b, "viewtally_store_checkpoints_failed_total",
                    "Checkpoints that the database did not take.", c->failed);
    metrics_family(b, "viewtally_store_checkpoint_duration_seconds", METRICS_HISTOGRAM,
                   "Copying the log into the database, beside the requests, with the wait for a turn.");
    metrics_times_write(b, "viewtally_store_checkpoint_duration_seconds", NULL, &c->times);
}

static void write_store(const struct admin_view *v, struct buf *b)
{
    const struct writer_counts *w = writer_counts(v->writer);
    metrics_family(
        b, "viewtally_store_read_duration_seconds", METRICS_HISTOGRAM,
        "Database reads on the loop, one snapshot each, with the making of what their rows are for.");
    metrics_times_write(b, "viewtally_store_read_duration_seconds", NULL, store_read_times(v->store));
    metrics_family(b, "viewtally_store_write_duration_seconds", METRICS_HISTOGRAM,
                   "Write jobs, from the beginning of the transaction to its commit on disk.");
    metrics_times_write(b, "viewtally_store_write_duration_seconds", NULL, &w->times);
    metrics_counter(b, "viewtally_store_writes_failed_total", "Write jobs that the database did not take.",
                    w->failed);
    metrics_gauge(b, "viewtally_store_write_queue_length", "Write jobs that wait or run.", w->waiting);
    write_size(b, "viewtally_store_database_bytes", "Size of the database file.", v->config->store.path, "");
    write_size(b, "viewtally_store_wal_bytes", "Size of the write-ahead log beside the database.",
               v->config->store.path, "-wal");
    if (v->checkpointer)
        write_checkpoints(checkpointer_counts(v->checkpointer), b);
}

static void write_lag(const struct loop_lag *lag, struct buf *b)
{
    metrics_family(b, "viewtally_loop_lag_seconds", METRICS_HISTOGRAM,
                   "How late a timer of 100 ms fires: what holds up every request of the process.");
    metrics_times_write(b, "viewtally_loop_lag_seconds", NULL, &lag->times);
    metrics_family(b, "viewtally_loop_lag_max_seconds", METRICS_GAUGE, "The longest since the start.");
    metrics_seconds(b, "viewtally_loop_lag_max_seconds", NULL, (int64_t)lag->times.max_us);
}

static void write_log(const struct access_log *log, struct buf *b)
{
    struct access_log_counts c = access_log_counts(log);
    metrics_counter(b, "viewtally_log_lines_dropped_total",
                    "Lines of the diagnostic log that were dropped because standard error was not read.",
                    (int64_t)log_writer_dropped());
    metrics_counter(b, "viewtally_access_log_lines_total", "Lines for the access log.", c.lines);
    metrics_counter(b, "viewtally_access_log_lines_dropped_total",
                    "Lines that did not get there, as it could not be written for long.", c.dropped);
}

void metrics_page_write(const struct admin_view *v, struct buf *b)
{
    write_build(b);
    write_server(v->server, b);
    request_metrics_write(v->traffic, b);
    if (v->limiter)
        write_limiter(v->limiter, b);
    if (v->cursors)
        write_cursors(v->cursors, b);
    write_redis(v->redis, b);
    if (v->store)
        write_store(v, b);
    if (v->schedule)
        refresh_metrics_write(schedule_state(v->schedule), b);
    if (v->schedule && v->store)
        platform_metrics_write(v, b);
    if (v->more)
        v->more(b, v->more_ctx);
    write_lag(v->lag, b);
    write_log(v->log, b);
    process_metrics_write(b);
}

/* Writes the metrics of each subsystem. A test compares their names, types and labels with docs/metrics.md.
 */
#include "admin/metrics_page.h"

#include "admin/backup_metrics.h"
#include "admin/platform_metrics.h"
#include "admin/process_metrics.h"
#include "admin/refresh_metrics.h"
#include "admin/server_metrics.h"
#include "admin/webhook_metrics.h"
#include "base/build_info.h"
#include "base/log_writer.h"
#include "store/database_files.h"
#include "store/store_config.h"

static const char *library_version(const char *name)
{
    for (int i = 0; i < build_library_count; i++)
        if (strcmp(build_libraries[i].name, name) == 0)
            return build_libraries[i].version;
    return "";
}

static void write_build(struct buf *b)
{
    metrics_write_family(b, "viewtally_build_info", METRICS_GAUGE,
                         "Always 1; the labels identify the build.");
    metrics_write_value(b, "viewtally_build_info",
                        METRICS_LABELS({"version", str_from_cstr(build_version)},
                                       {"commit", str_from_cstr(build_commit)},
                                       {"mode", str_from_cstr(build_mode)},
                                       {"sqlite", str_from_cstr(library_version("sqlite"))},
                                       {"libuv", str_from_cstr(library_version("libuv"))}),
                        1);
}

static void write_server(const struct http_server *server, struct buf *b)
{
    struct http_server_counts c = {0};
    if (server)
        c = http_server_get_counts(server);
    metrics_write_gauge(b, "viewtally_http_connections", "Open client connections.", c.connections);
    metrics_write_counter(b, "viewtally_http_connections_accepted_total", "Client connections accepted.",
                          c.accepted);
    metrics_write_gauge(
        b, "viewtally_http_listeners_paused",
        "Listeners that do not accept connections for now, because [server] max_connections is reached or "
        "memory is short.",
        c.waiting);
    metrics_write_family(
        b, "viewtally_http_connections_evicted_total", METRICS_COUNTER,
        "Connections closed to make room for a waiting client, by state: unused (no request yet) or idle "
        "(between requests).");
    metrics_write_value(b, "viewtally_http_connections_evicted_total",
                        METRICS_LABELS({"state", STR("unused")}), (int64_t)c.evicted_unused);
    metrics_write_value(b, "viewtally_http_connections_evicted_total", METRICS_LABELS({"state", STR("idle")}),
                        (int64_t)c.evicted_idle);
    metrics_write_gauge(b, "viewtally_http_requests_in_flight", "Requests in progress.",
                        c.requests_in_flight);
    metrics_write_counter(
        b, "viewtally_http_requests_rejected_total",
        "Requests that the HTTP server rejected or aborted itself: malformed, too large, too slow, timed "
        "out, or for lack of memory.",
        c.rejected);
    metrics_write_counter(b, "viewtally_http_requests_out_of_memory_total",
                          "Requests aborted because memory ran out; also counted as rejected.",
                          c.rejected_no_memory);
}

static void write_limiter(const struct limiter *limiter, struct buf *b)
{
    struct limiter_counts c = limiter_get_counts(limiter);
    metrics_write_family(
        b, "viewtally_limiter_decisions_total", METRICS_COUNTER,
        "Decisions of the rate limiter, by decision and source: redis, redis_cached (an earlier reply of "
        "Redis still applies), process (Redis is not configured or unavailable), off.");
    for (int i = 0; i < LIMITER_SOURCES; i++) {
        struct str source = str_from_cstr(limiter_source_name((enum limiter_source)i));
        metrics_write_value(b, "viewtally_limiter_decisions_total",
                            METRICS_LABELS({"decision", STR("admitted")}, {"source", source}),
                            (int64_t)c.admitted[i]);
        metrics_write_value(b, "viewtally_limiter_decisions_total",
                            METRICS_LABELS({"decision", STR("rejected")}, {"source", source}),
                            (int64_t)c.rejected[i]);
    }
    metrics_write_gauge(b, "viewtally_limiter_keys",
                        "API keys that have a rate limit window in this process.", c.keys);
}

static void write_poll_positions(const struct poll_positions *positions, struct buf *b)
{
    struct poll_position_counts c = poll_positions_get_counts(positions);
    metrics_write_family(
        b, "viewtally_poll_lag_events", METRICS_HISTOGRAM,
        "Events that an API key had not read yet when it polled; 1001 means more than 1000.");
    metrics_write_size_histogram(b, "viewtally_poll_lag_events", NULL, &c.lag);
    metrics_write_counter(b, "viewtally_poll_positions_recorded_total",
                          "Poll positions recorded, to be written to Redis.", c.recorded);
    metrics_write_counter(b, "viewtally_poll_positions_dropped_total",
                          "Poll positions dropped because Redis was unavailable.", c.dropped);
}

static void write_redis(const struct redis *redis, struct buf *b)
{
    struct redis_counts c = {0};
    if (redis)
        c = redis_get_counts(redis);
    metrics_write_gauge(b, "viewtally_redis_configured", "1 if [redis] url is configured.", redis != NULL);
    metrics_write_gauge(b, "viewtally_redis_up", "1 if connected to Redis and commands succeed.",
                        redis && redis_is_up(redis));
    metrics_write_family(
        b, "viewtally_redis_unavailable", METRICS_GAUGE,
        "1 for the reason why Redis is unavailable: connection, auth (Redis rejects user and "
        "password), select (it rejects the database), call (a command fails).");
    for (int i = 0; i < REDIS_FAILURES; i++)
        metrics_write_value(
            b, "viewtally_redis_unavailable",
            METRICS_LABELS({"reason", str_from_cstr(redis_failure_name((enum redis_failure)i))}),
            redis && redis_is_unavailable(redis) && redis_get_last_failure(redis) == (enum redis_failure)i);
    metrics_write_counter(b, "viewtally_redis_calls_total", "Calls to Redis that a request waits for.",
                          c.calls);
    metrics_write_counter(b, "viewtally_redis_calls_failed_total",
                          "Calls to Redis that failed, including those that timed out.", c.failed);
    metrics_write_counter(b, "viewtally_redis_calls_timed_out_total",
                          "Calls to Redis without a reply within 50 ms.", c.late);
    metrics_write_family(b, "viewtally_redis_call_duration_seconds", METRICS_HISTOGRAM,
                         "Time from sending a call to its reply, without calls that timed out.");
    metrics_write_duration_histogram(b, "viewtally_redis_call_duration_seconds", NULL, &c.times);
}

static void write_files(const char *path, struct buf *b)
{
    metrics_write_gauge(b, "viewtally_store_database_bytes", "Size of the database file in bytes.",
                        database_file_size(path, ""));
    metrics_write_gauge(b, "viewtally_store_wal_bytes", "Size of the write-ahead log file in bytes.",
                        database_file_size(path, "-wal"));
}

static void write_checkpoints(const struct checkpoint_counts *c, struct buf *b)
{
    metrics_write_gauge(b, "viewtally_store_wal_pages", "Pages in the write-ahead log.", c->log.pages);
    metrics_write_gauge(b, "viewtally_store_wal_uncheckpointed_pages",
                        "Pages in the write-ahead log that are not yet copied into the database.",
                        c->log.pending);
    metrics_write_gauge(b, "viewtally_store_checkpoint_blocked",
                        "1 if the write-ahead log keeps growing, because a long-running reader blocks the "
                        "checkpoint or because the checkpoint fails.",
                        c->too_long);
    metrics_write_counter(b, "viewtally_store_checkpoints_failed_total", "Checkpoints that failed.",
                          c->failed);
    metrics_write_family(b, "viewtally_store_checkpoint_duration_seconds", METRICS_HISTOGRAM,
                         "Duration of checkpoints, including the wait for other writers. They run on another "
                         "thread, so they do not block the event loop.");
    metrics_write_duration_histogram(b, "viewtally_store_checkpoint_duration_seconds", NULL, &c->times);
}

static void write_disk(const struct disk_space *disk, struct buf *b)
{
    if (!disk->is_known)
        return;
    metrics_write_gauge(
        b, "viewtally_store_disk_free_bytes",
        "Free bytes of the file system that contains the database, read every 5 seconds; missing "
        "if they cannot be read.",
        disk->free_bytes);
    metrics_write_gauge(b, "viewtally_store_disk_size_bytes",
                        "Size of the file system that contains the database, in bytes.", disk->size_bytes);
}

static void write_store(const struct admin_view *v, struct buf *b)
{
    const struct writer_counts *w = writer_counts(v->writer);
    metrics_write_family(b, "viewtally_store_read_duration_seconds", METRICS_HISTOGRAM,
                         "Database reads on the event loop, including the rendering of their rows.");
    metrics_write_duration_histogram(b, "viewtally_store_read_duration_seconds", NULL,
                                     store_get_read_times(v->store));
    metrics_write_family(b, "viewtally_store_write_duration_seconds", METRICS_HISTOGRAM,
                         "Write transactions, from their start to the durable commit.");
    metrics_write_duration_histogram(b, "viewtally_store_write_duration_seconds", NULL, &w->times);
    metrics_write_counter(b, "viewtally_store_writes_failed_total", "Write transactions that failed.",
                          w->failed);
    metrics_write_gauge(b, "viewtally_store_write_queue_length", "Write transactions waiting or in progress.",
                        w->waiting);
    if (store_config_is_file(v->config))
        write_files(v->config->store.path, b);
    struct store_server_status server;
    if (store_get_server_status(v->store, &server))
        server_metrics_write(&server, database_states_get_server_load(v->states), b);
    write_disk(v->disk, b);
    if (v->checkpointer)
        write_checkpoints(checkpointer_get_counts(v->checkpointer), b);
}

static void write_loop_lag(const struct loop_lag *lag, struct buf *b)
{
    metrics_write_family(b, "viewtally_loop_lag_seconds", METRICS_HISTOGRAM,
                         "Time for which the event loop was blocked, measured as the delay of a timer that "
                         "fires every 100 ms.");
    metrics_write_duration_histogram(b, "viewtally_loop_lag_seconds", NULL, &lag->times);
    metrics_write_family(b, "viewtally_loop_lag_max_seconds", METRICS_GAUGE,
                         "Longest time for which the event loop was blocked since the process started.");
    metrics_write_seconds(b, "viewtally_loop_lag_max_seconds", NULL, (int64_t)lag->times.max_us);
}

static void write_log(const struct access_log *log, struct buf *b)
{
    struct access_log_counts c = access_log_get_counts(log);
    metrics_write_counter(b, "viewtally_log_lines_dropped_total",
                          "Lines of the diagnostic log dropped because standard error was not read.",
                          (int64_t)log_writer_dropped());
    metrics_write_counter(b, "viewtally_access_log_lines_total", "Lines accepted for the access log.",
                          c.lines);
    metrics_write_counter(b, "viewtally_access_log_lines_dropped_total",
                          "Lines dropped because the access log could not be written.", c.dropped);
}

void metrics_page_write(const struct admin_view *v, struct buf *b)
{
    write_build(b);
    write_server(v->server, b);
    request_metrics_write(v->requests, b);
    if (v->limiter)
        write_limiter(v->limiter, b);
    if (v->positions)
        write_poll_positions(v->positions, b);
    write_redis(v->redis, b);
    if (v->store) {
        database_states_update(v->states, v->store, v->writer);
        write_store(v, b);
    }
    if (v->schedule)
        refresh_metrics_write(schedule_state(v->schedule), b);
    if (v->schedule && v->store)
        platform_metrics_write(v, b);
    if (v->backups)
        backup_metrics_write(backup_schedule_status(v->backups), b);
    if (v->webhooks)
        webhook_metrics_write(v->webhooks, database_states_get_webhooks(v->states), b);
    ping_metrics_write(v, b);
    if (v->write_more)
        v->write_more(b, v->write_more_ctx);
    write_loop_lag(v->loop_lag, b);
    write_log(v->access_log, b);
    process_metrics_write(b);
}

/* Writes the metrics of a database server. The metrics of the connection describe the connection of this
 * process. All other metrics are the same in every process that uses the database. */
#include "admin/server_metrics.h"

#include "base/metrics.h"

static void write_connection(const struct store_server_status *s, struct buf *b)
{
    metrics_write_gauge(b, "viewtally_store_server_up", "1 if reads are served by the database server.",
                        s->is_up);
    metrics_write_gauge(b, "viewtally_store_server_reads_held",
                        "Reads that were not sent yet, because the connection to the database server is "
                        "not up, or because too many reads are in flight.",
                        s->held);
    metrics_write_gauge(b, "viewtally_store_server_reads_in_flight",
                        "Reads that wait for a reply of the database server.", s->in_flight);
    metrics_write_counter(b, "viewtally_store_server_round_trips_total",
                          "Batches of reads that this process has sent to the database server.",
                          s->round_trips);
    if (s->barrier_age_ms < 0)
        return;
    metrics_write_family(
        b, "viewtally_store_server_barrier_age_seconds", METRICS_GAUGE,
        "Time since the database server was last confirmed to be the primary; a confirmation is valid for "
        "5 seconds. Absent until the first confirmation.");
    metrics_write_seconds(b, "viewtally_store_server_barrier_age_seconds", NULL, s->barrier_age_ms * 1000);
}

static void write_rows(const struct store_server_load *l, struct buf *b)
{
    static const char updates[] = "viewtally_store_server_updates_total";
    metrics_write_gauge(b, "viewtally_store_server_live_rows",
                        "Rows in the tables of viewtally, as estimated by the database server.",
                        l->live_rows);
    metrics_write_gauge(b, "viewtally_store_server_dead_rows",
                        "Old row versions that a vacuum has not yet removed, as estimated by the database "
                        "server.",
                        l->dead_rows);
    metrics_write_family(
        b, updates, METRICS_COUNTER,
        "Updates of rows in the tables of viewtally by all processes; hot=\"true\": updates that changed "
        "no index.");
    metrics_write_value(b, updates, METRICS_LABELS({"hot", STR("true")}), l->hot_updates);
    metrics_write_value(b, updates, METRICS_LABELS({"hot", STR("false")}), l->updates - l->hot_updates);
}

static void write_load(const struct store_server_load *l, struct buf *b)
{
    metrics_write_gauge(b, "viewtally_store_server_connections",
                        "Connections to the database server, also those of other programs.", l->connections);
    metrics_write_gauge(b, "viewtally_store_server_connections_max",
                        "Connections that the database server allows (max_connections).", l->connections_max);
    write_rows(l, b);
    metrics_write_gauge(b, "viewtally_store_server_standbys",
                        "Standbys that are connected to the database server.", l->standbys);
    if (l->lag_bytes >= 0)
        metrics_write_gauge(b, "viewtally_store_server_replication_lag_bytes",
                            "Bytes of the write-ahead log that the slowest standby has not yet replayed. "
                            "Absent unless the role is a member of pg_monitor.",
                            l->lag_bytes);
}

void server_metrics_write(const struct store_server_status *status, const struct store_server_load *load,
                          struct buf *b)
{
    write_connection(status, b);
    if (load)
        write_load(load, b);
}

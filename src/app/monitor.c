/* Creates, connects and closes the parts of the monitor. */
#include "app/monitor.h"

#include "admin/access_log.h"
#include "admin/admin.h"
#include "admin/database_states.h"
#include "admin/slow_log.h"
#include "api/compressor.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "auth/failure_log.h"
#include "store/store_config.h"

#include <stdlib.h>

struct monitor {
    uv_loop_t *loop;
    struct admin_view view;
    struct request_metrics *requests;
    struct loop_lag lag;
    struct disk_space disk;
    struct access_log *log;
    struct admin *admin; /* NULL if there is no admin listener, or if it is closing */
    bool closed;
};

struct monitor *monitor_new(uv_loop_t *loop, const struct config *config)
{
    struct monitor *m = xcalloc(1, sizeof *m);
    m->loop = loop;
    m->requests = request_metrics_new();
    m->log = access_log_new(loop);
    m->view = (struct admin_view){.config = config,
                                  .requests = m->requests,
                                  .loop_lag = &m->lag,
                                  .access_log = m->log,
                                  .disk = &m->disk,
                                  .states = database_states_new(config)};
    loop_lag_open(&m->lag, loop);
    monitor_reconfigure(m);
    disk_space_open(&m->disk, loop, store_config_is_file(config) ? config->store.path : NULL);
    return m;
}

void monitor_reconfigure(const struct monitor *m)
{
    store_set_slow_query_ms(m->view.config->log.slow_query_ms);
}

struct admin_view *monitor_get_view(struct monitor *m)
{
    return &m->view;
}

static void write_cache_metrics(const struct response_cache *cache, const struct compressor *compressor,
                                struct buf *b)
{
    struct response_cache_counters c = response_cache_get_counters(cache);
    metrics_write_counter(b, "viewtally_response_cache_hits_total",
                          "Responses served from the response cache.", c.hits);
    metrics_write_counter(b, "viewtally_response_cache_misses_total",
                          "Cacheable responses that were not in the response cache.", c.misses);
    metrics_write_counter(b, "viewtally_response_cache_stored_total",
                          "Responses stored in the response cache.", c.stored);
    metrics_write_counter(b, "viewtally_response_cache_evicted_total",
                          "Entries evicted from the response cache to make room.", c.evicted);
    metrics_write_gauge(b, "viewtally_response_cache_entries", "Entries in the response cache.",
                        (int64_t)c.entries);
    metrics_write_gauge(b, "viewtally_response_cache_bytes",
                        "Memory used by the entries of the response cache (limit: [cache] max_bytes).",
                        (int64_t)c.bytes);
    metrics_write_counter(b, "viewtally_responses_compressed_total",
                          "Cached response bodies that were compressed ([server] gzip).",
                          compressor ? compressor_get_total(compressor) : 0);
}

static void write_failure_metrics(const struct failure_log *log, struct buf *b)
{
    metrics_write_family(
        b, "viewtally_authentication_failures_total", METRICS_COUNTER,
        "Failed authentications, by kind: sign_in, api_key (malformed or unknown), app (wrong "
        "credentials or code), invitation.");
    for (int i = 0; i < FAILURE_KINDS; i++)
        metrics_write_value(b, "viewtally_authentication_failures_total",
                            METRICS_LABELS({"kind", str_from_cstr(failure_kind_name((enum failure_kind)i))}),
                            (int64_t)failure_log_get_count(log, (enum failure_kind)i));
}

static void write_application_metrics(struct buf *b, const void *ctx)
{
    const struct applications *apps = ctx;
    write_cache_metrics(apps->api.cache, apps->api.compressor, b);
    write_failure_metrics(apps->failures, b);
}

void monitor_set_applications(struct monitor *m, const struct applications *apps)
{
    m->view.write_more = write_application_metrics;
    m->view.write_more_ctx = apps;
}

enum err monitor_open(struct monitor *m, const struct passed_sockets *passed, struct error *error)
{
    const char *listen = m->view.config->admin.listen;
    if (!*listen && !passed->admin_count)
        return OK;
    enum err err = admin_open(&m->admin, m->loop, &m->view, passed->admin, passed->admin_count, error);
    if (err != ERR_BUSY || strcmp(listen, config_get_default("admin", "listen")) != 0)
        return err;
    log_warn("%s; this process serves no metrics. Give each process its own [admin] listen address",
             error->text);
    return OK;
}

enum err monitor_set_access_log(struct monitor *m, const char *target, struct error *error)
{
    return access_log_set_target(m->log, target, error);
}

void monitor_print_addresses(const struct monitor *m)
{
    if (m->admin)
        admin_print_addresses(m->admin);
}

void monitor_record_request(void *ctx, const struct request *r, bool response_complete)
{
    struct monitor *m = ctx;
    int64_t us = clock_work_us() - r->arrived_us;
    request_metrics_record(m->requests, r, response_complete, us);
    access_log_append(m->log, r, response_complete, us);
    slow_log_append(r, us, m->view.config->log.slow_request_ms);
}

static void on_admin_closed(void *ctx)
{
    (void)ctx;
}

void monitor_close(struct monitor *m)
{
    if (m->closed)
        return;
    m->closed = true;
    /* While the admin listener closes, it may still serve a request. The subsystems may be closed by then, so
     * the view must no longer point to them. */
    m->view = (struct admin_view){.config = m->view.config,
                                  .requests = m->requests,
                                  .loop_lag = &m->lag,
                                  .access_log = m->log,
                                  .disk = &m->disk,
                                  .states = m->view.states,
                                  .draining = true};
    loop_lag_close(&m->lag);
    disk_space_close(&m->disk);
    access_log_close(m->log);
    if (m->admin)
        admin_close(m->admin, on_admin_closed, NULL);
    m->admin = NULL;
}

void monitor_free(struct monitor *m)
{
    access_log_free(m->log);
    request_metrics_free(m->requests);
    database_states_free(m->view.states);
    free(m);
}

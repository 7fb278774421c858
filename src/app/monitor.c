/* Wires what watches. Knows no metric and no page. */
#include "app/monitor.h"

#include "admin/access_log.h"
#include "admin/admin.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"

#include <stdlib.h>

struct monitor {
    uv_loop_t *loop;
    struct admin_view view;
    struct request_metrics *traffic;
    struct loop_lag lag;
    struct access_log *log;
    struct admin *admin; /* NULL: off, or closing */
    bool closed;
};

struct monitor *monitor_new(uv_loop_t *loop, const struct config *config)
{
    struct monitor *w = xcalloc(1, sizeof *w);
    w->loop = loop;
    w->traffic = request_metrics_new();
    w->log = access_log_new(loop);
    w->view = (struct admin_view){.config = config, .traffic = w->traffic, .lag = &w->lag, .log = w->log};
    loop_lag_open(&w->lag, loop);
    return w;
}

struct admin_view *monitor_view(struct monitor *w)
{
    return &w->view;
}

static void write_cache(struct buf *b, const void *ctx)
{
    struct response_cache_counts c = response_cache_counts(ctx);
    metrics_counter(b, "viewtally_response_cache_hits_total", "Responses served from the response cache.",
                    c.hits);
    metrics_counter(b, "viewtally_response_cache_misses_total",
                    "Cacheable responses that were not in the response cache.", c.misses);
    metrics_counter(b, "viewtally_response_cache_stored_total", "Responses stored in the response cache.",
                    c.stored);
    metrics_counter(b, "viewtally_response_cache_evicted_total",
                    "Entries evicted from the response cache to make room.", c.evicted);
    metrics_gauge(b, "viewtally_response_cache_entries", "Entries in the response cache.",
                  (int64_t)c.entries);
    metrics_gauge(b, "viewtally_response_cache_bytes",
                  "Memory used by the entries of the response cache (limit: [cache] max_bytes).",
                  (int64_t)c.bytes);
}

void monitor_set_response_cache(struct monitor *w, const struct response_cache *cache)
{
    w->view.more = write_cache;
    w->view.more_ctx = cache;
}

enum err monitor_open(struct monitor *w, struct error *error)
{
    const char *listen = w->view.config->admin.listen;
    enum err err = *listen ? admin_open(&w->admin, w->loop, &w->view, error) : OK;
    if (err != ERR_BUSY || strcmp(listen, config_initial("admin", "listen")) != 0)
        return err;
    log_warn("%s; this process serves no metrics: each process needs its own address", error->text);
    return OK;
}

enum err monitor_set_access_log(struct monitor *w, const char *target, const char **why)
{
    return access_log_set_target(w->log, target, why);
}

void monitor_announce(const struct monitor *w)
{
    if (w->admin)
        admin_announce(w->admin);
}

void monitor_record_request(void *ctx, const struct request *r, bool complete)
{
    struct monitor *w = ctx;
    int64_t us = clock_work_us() - r->arrived_us;
    request_metrics_record(w->traffic, r, complete, us);
    access_log_append(w->log, r, complete, us);
}

static void on_admin_closed(void *ctx)
{
    (void)ctx;
}

void monitor_close(struct monitor *w)
{
    if (w->closed)
        return;
    w->closed = true;
    /* Somebody may still ask while it closes, when these are gone. */
    w->view = (struct admin_view){
        .config = w->view.config, .traffic = w->traffic, .lag = &w->lag, .log = w->log, .draining = true};
    loop_lag_close(&w->lag);
    access_log_close(w->log);
    if (w->admin)
        admin_close(w->admin, on_admin_closed, NULL);
    w->admin = NULL;
}

void monitor_free(struct monitor *w)
{
    access_log_free(w->log);
    request_metrics_free(w->traffic);
    free(w);
}

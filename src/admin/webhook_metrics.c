/* Writes the metrics of webhooks. Counts all endpoints in the database, but only the deliveries of this
 * process. */
#include "admin/webhook_metrics.h"

#include "base/metrics.h"
#include "webhook/webhook_rules.h"

static void write_endpoints(const struct webhook_counts *counts, struct buf *b)
{
    static const char name[] = "viewtally_webhook_endpoints";
    if (!counts)
        return;
    metrics_write_family(
        b, name, METRICS_GAUGE,
        "Webhooks, by state: active, paused (by a person), failed (paused after three days of "
        "failures), gone (ended by status 410).");
    for (int state = WEBHOOK_ACTIVE; state <= WEBHOOK_GONE; state++)
        metrics_write_value(
            b, name, METRICS_LABELS({"state", str_from_cstr(webhook_state_name((enum webhook_state)state))}),
            counts->by_state[state]);
    metrics_write_gauge(b, "viewtally_webhook_endpoints_failing",
                        "Active webhooks whose most recent attempt failed and that wait for the next "
                        "attempt.",
                        counts->failing);
}

void webhook_metrics_write(const struct webhook_service *service, const struct webhook_counts *endpoints,
                           struct buf *b)
{
    static const char name[] = "viewtally_webhook_deliveries_total";
    const struct dispatcher_counts *c = webhook_service_counts(service);
    write_endpoints(endpoints, b);
    metrics_write_family(b, name, METRICS_COUNTER,
                         "Attempts of this process to deliver an event or a test to a webhook, by result: "
                         "delivered, failed, gone (status 410).");
    metrics_write_value(b, name, METRICS_LABELS({"result", STR("delivered")}),
                        (int64_t)atomic_load(&c->delivered));
    metrics_write_value(b, name, METRICS_LABELS({"result", STR("failed")}), (int64_t)atomic_load(&c->failed));
    metrics_write_value(b, name, METRICS_LABELS({"result", STR("gone")}), (int64_t)atomic_load(&c->gone));
    metrics_write_gauge(b, "viewtally_webhook_deliveries_in_flight",
                        "Deliveries of this process in flight; at most 256.", atomic_load(&c->in_flight));
    metrics_write_gauge(
        b, "viewtally_webhook_lease_held",
        "1 while this process delivers webhooks; only one process of a database does so at a time.",
        atomic_load(&c->has_lease));
}

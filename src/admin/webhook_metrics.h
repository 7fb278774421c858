/* Metrics of webhooks. */
#ifndef VT_ADMIN_WEBHOOK_METRICS_H
#define VT_ADMIN_WEBHOOK_METRICS_H

#include "base/buf.h"
#include "webhook/webhook_service.h"

struct store;

/* Appends the metrics of all endpoints in the database and of the deliveries of this process. */
void webhook_metrics_write(const struct webhook_service *service, struct store *store, struct buf *b);

#endif

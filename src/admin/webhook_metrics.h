/* Writes the metrics of webhooks. */
#ifndef VT_ADMIN_WEBHOOK_METRICS_H
#define VT_ADMIN_WEBHOOK_METRICS_H

#include "base/buf.h"
#include "store/webhooks.h"
#include "webhook/webhook_service.h"

/* Appends the metrics of the deliveries of this process. If `endpoints` is not NULL, also appends the numbers
 * of all endpoints in the database. */
void webhook_metrics_write(const struct webhook_service *service, const struct webhook_counts *endpoints,
                           struct buf *b);

#endif

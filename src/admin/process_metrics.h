/* Writes the metrics that the operating system provides about this process, with the names that all
 * Prometheus clients use. */
#ifndef VT_ADMIN_PROCESS_METRICS_H
#define VT_ADMIN_PROCESS_METRICS_H

#include "base/buf.h"

/* Appends the metrics. Omits a metric whose value the system does not provide. */
void process_metrics_write(struct buf *b);

#endif

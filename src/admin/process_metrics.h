/* Metrics of this process from the operating system, under the names that all Prometheus clients use. */
#ifndef VT_ADMIN_PROCESS_METRICS_H
#define VT_ADMIN_PROCESS_METRICS_H

#include "base/buf.h"

/* Appends the metrics. A value that the system does not provide is left out. */
void process_metrics_write(struct buf *b);

#endif

/* What the system says of this process, under the names that all Prometheus clients use. */
#ifndef VT_ADMIN_PROCESS_METRICS_H
#define VT_ADMIN_PROCESS_METRICS_H

#include "base/buf.h"

/* Appends its metrics; what the system does not tell is left out. */
void process_metrics_write(struct buf *b);

#endif

/* The page /metrics. */
#ifndef VT_ADMIN_METRICS_PAGE_H
#define VT_ADMIN_METRICS_PAGE_H

#include "admin/view.h"
#include "base/buf.h"

/* Appends all metrics in the Prometheus text format. */
void metrics_page_write(const struct admin_view *v, struct buf *b);

#endif

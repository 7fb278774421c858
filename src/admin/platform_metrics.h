/* Writes the metrics of the platforms. */
#ifndef VT_ADMIN_PLATFORM_METRICS_H
#define VT_ADMIN_PLATFORM_METRICS_H

#include "admin/view.h"

/* Appends the metrics. Precondition: `v->store` and `v->schedule` are not NULL. */
void platform_metrics_write(const struct admin_view *v, struct buf *b);

#endif

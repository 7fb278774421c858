/* The platforms as metrics. */
#ifndef VT_ADMIN_PLATFORM_METRICS_H
#define VT_ADMIN_PLATFORM_METRICS_H

#include "admin/view.h"

/* `v->store` and `v->schedule` are there. */
void platform_metrics_write(const struct admin_view *v, struct buf *b);

#endif

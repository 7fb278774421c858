/* The metrics of the refresh. */
#ifndef VT_ADMIN_REFRESH_METRICS_H
#define VT_ADMIN_REFRESH_METRICS_H

#include "base/buf.h"
#include "refresh/schedule.h"

/* Appends its metrics. */
void refresh_metrics_write(const struct schedule_state *s, struct buf *b);

/* A run is overdue by more than half an hour. */
bool refresh_is_overdue(const struct schedule_state *s);

#endif

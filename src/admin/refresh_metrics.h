/* Writes the metrics of the refresh. */
#ifndef VT_ADMIN_REFRESH_METRICS_H
#define VT_ADMIN_REFRESH_METRICS_H

#include "base/buf.h"
#include "refresh/schedule.h"

/* Appends the metrics. */
void refresh_metrics_write(const struct schedule_state *s, struct buf *b);

/* Returns true if a run has been due for more than 30 minutes. A run stays due until it is complete, and may
 * read the platforms for most of an hour ([platforms] deadline_s). Therefore the limit is an hour while a run
 * is in progress that this process started, or found in another process, within the 30 minutes. A later
 * attempt does not change the result, which would otherwise alternate while attempts fail. */
bool refresh_is_overdue(const struct schedule_state *s);

#endif

/* Writes the metrics of scheduled backups and of the pings to dead man's switches. */
#ifndef VT_ADMIN_BACKUP_METRICS_H
#define VT_ADMIN_BACKUP_METRICS_H

#include "admin/view.h"
#include "base/buf.h"

/* Appends the metrics of backups. */
void backup_metrics_write(const struct backup_status *s, struct buf *b);

/* Appends the metrics of pings. */
void ping_metrics_write(const struct admin_view *v, struct buf *b);

/* Returns true if a backup has been due for more than 30 minutes and this process is not making it. */
bool backup_is_overdue(const struct backup_status *s);

#endif

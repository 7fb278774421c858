/* The retention rule decides which scheduled backups are kept: the newest backup of each of the last n hours,
 * days and weeks that have a backup. All periods are in UTC; a week begins on Monday. A backup is kept if at
 * least one of the three rules selects it. The newest backup is always kept. */
#ifndef VT_BACKUP_RETENTION_H
#define VT_BACKUP_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retention {
    int64_t hourly, daily, weekly; /* number of periods; 0: the rule selects nothing */
};

/* Sets keep[i] to whether the backup of the time times[i], in ms, is kept. `times` is sorted, oldest
 * first. */
void retention_select(const struct retention *rule, const int64_t *times, size_t count, bool *keep);

#endif

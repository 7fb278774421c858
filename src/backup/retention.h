/* The retention rule decides which scheduled backups are kept. For each of the last `hourly` hours in which a
 * backup was made, it keeps the newest backup of the hour. It does the same for the last `daily` days and the
 * last `weekly` weeks. The newest backup of all is always kept. All periods are in UTC; a week begins on
 * Monday. */
#ifndef VT_BACKUP_RETENTION_H
#define VT_BACKUP_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retention {
    int64_t hourly, daily, weekly; /* numbers of hours, days and weeks; 0: selects nothing */
};

/* Sets keep[i] to true if the rule keeps the backup that was made at times[i] (in ms), otherwise to false.
 * `times` is sorted, oldest first. */
void retention_select(const struct retention *rule, const int64_t *times, size_t count, bool *keep);

#endif

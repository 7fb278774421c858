/* Compares the packed gains by day with the table `daily`, for the check of a whole database. */
#ifndef VT_STORE_DAYS_CHECK_H
#define VT_STORE_DAYS_CHECK_H

#include "base/error.h"

#include <stdint.h>

/* Sets `*bad` to the number of videos whose column `days` (the packed gains) is damaged, or is valid but
 * differs from the table. A column is valid if its sum is views - baseline. Columns that are not valid are
 * not compared, because they are not used (stored_days.h). */
MUST_USE enum err days_check_count_bad_videos(const char *path, int64_t *bad, struct error *error);

#endif

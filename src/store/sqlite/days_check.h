/* Compares the packed gains by day with the table `daily`, for the check of a whole database. */
#ifndef VT_STORE_DAYS_CHECK_H
#define VT_STORE_DAYS_CHECK_H

#include "base/error.h"

#include <stdint.h>

/* Counts the videos whose column `days` is damaged, or whose column is valid but differs from the table. A
 * column is valid if its sum is views - baseline; other columns are not used (stored_days.h). */
MUST_USE enum err days_check(const char *path, int64_t *bad, struct error *error);

#endif

/* Fills the column videos.days from the table `daily` after migration 018. The work is divided into slices of
 * one transaction each. If the process is killed, the next process that migrates continues with the
 * unfinished slice. During this time, other processes may read and write the database, including processes of
 * the previous release. */
#ifndef VT_STORE_DAYS_FILL_H
#define VT_STORE_DAYS_FILL_H

#include "store/sqlite/migrations.h"

enum { DAYS_MIGRATION = 18 };

/* Sets `*is_pending` to true if migration 018 has been applied, but days_fill() has not yet gone through all
 * videos. */
MUST_USE enum err days_fill_is_pending(struct db *db, bool *is_pending);

/* Fills all videos, and verifies that the days of each video add up to views - baseline. If they do not, logs
 * the video and leaves its column unchanged and invalid, so that its days are read from `daily`. `observer`
 * may be NULL; it is called for migration 018 before each slice, and with `is_committed` set at the end. */
MUST_USE enum err days_fill(const char *path, const struct migration_observer *observer, struct error *error);

#endif

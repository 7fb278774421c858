/* The table `daily`, which contains the gains of a video by day for the previous release. This release reads
 * the gains of a video from it only if the video's column `days` is not valid (stored_days.h). An engine that
 * no previous release has used does not have this table. Without the table, the functions that write do
 * nothing. The next minor version removes this file and the table. */
#ifndef VT_STORE_DAILY_TABLE_H
#define VT_STORE_DAILY_TABLE_H

#include "store/handle.h"

/* Returns true if the database has the table. */
MUST_USE bool daily_table_exists(const struct store *s);

/* Appends the days from `from` to `to` (inclusive) to s->days, ascending. If there are earlier days, sets
 * `*total_before` to the sum of their gains; otherwise leaves it unchanged. Returns ERR_CORRUPT if the table
 * does not exist. */
MUST_USE enum err daily_table_read(struct store *s, int64_t video_row, int32_t from, int32_t to,
                                   int64_t *total_before);

/* Adds `gained` views to a day, which must not be older than the newest day of the video in the table. */
MUST_USE enum err daily_table_add(struct store *s, int64_t video_row, int32_t day, int64_t gained);

/* Inserts a day that the table does not contain. */
MUST_USE enum err daily_table_insert(struct store *s, int64_t video_row, const struct day_gain *day);

/* Replaces a day that the table contains. Deletes it if nothing was gained. */
MUST_USE enum err daily_table_replace(struct store *s, int64_t video_row, const struct day_gain *day);

/* Deletes the days of a video. Adds their number to `*count`. */
MUST_USE enum err daily_table_delete(struct store *s, int64_t video_row, int64_t *count);

#endif

/* The recent days of a video: the newest day with a gain, and all gains of the seven days before it. They are
 * stored in the video's row, so that statistics of the last week read no other table. They cover every range
 * that starts on one of these eight days or later. */
#ifndef VT_STORE_RECENT_H
#define VT_STORE_RECENT_H

#include "store/model.h"

/* Adds a gain on `date`. If `date` is older than the newest day, or if a sum exceeds GAINED_MAX, the recent
 * days become unknown. */
void recent_add(struct recent_days *recent, int32_t date, int64_t gained);

/* Returns true if each total is the previous total plus the day's gain, and none exceeds GAINED_MAX. */
bool recent_is_sound(const struct recent_days *recent);

/* Returns true if the recent days include all gains since the date `from`. CHECKs that recent->known is true.
 */
bool recent_reaches(const struct recent_days *recent, int32_t from);

/* Returns the days from the date `from` to `to` (inclusive) and sets `*count` to their number.
 * recent_reaches() must be true for `from`. */
const struct day_gain *recent_within(const struct recent_days *recent, int32_t from, int32_t to,
                                     size_t *count);

#endif

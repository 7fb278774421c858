/* The recent days of a video, stored in its row so that statistics of the last week read no other table.
 *
 * They hold the newest day with a gain and all gains of the seven days before it. So they cover every range
 * that starts in these eight days or later, in particular the last seven days. */
#ifndef VT_STORE_RECENT_H
#define VT_STORE_RECENT_H

#include "store/model.h"

/* Adds a gain on `date`, which must not be older than the newest day. Otherwise, or if a sum exceeds
 * GAINED_MAX, the days become unknown. */
void recent_add(struct recent_days *recent, int32_t date, int64_t gained);

/* Returns true if each total is the previous one plus the gain, and within GAINED_MAX. */
bool recent_is_sound(const struct recent_days *recent);

/* Returns true if the days include all gains since `from`. CHECKs recent->known. */
bool recent_reaches(const struct recent_days *recent, int32_t from);

/* Returns the days in [from, to]; recent_reaches() must hold for `from`. */
const struct day_gain *recent_within(const struct recent_days *recent, int32_t from, int32_t to,
                                     size_t *count);

#endif

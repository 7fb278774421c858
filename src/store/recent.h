/* The last days of a video, kept in its row so that statistics of the last week read no other table. Pure
 * functions.
 *
 * They hold every gain from seven days before the newest one on, and its total. So they answer any range that
 * begins there or later, in particular one of the last seven days, whenever the last gain was. */
#ifndef VT_STORE_RECENT_H
#define VT_STORE_RECENT_H

#include "store/model.h"

/* Gains of the day `date`, which is the newest one or a newer one; else, or when a sum is none that views can
 * have, the days are no longer known. */
void recent_add(struct recent_days *recent, int32_t date, int64_t gained);

/* Whether one total follows from the other, and none is one that views cannot have. */
bool recent_is_sound(const struct recent_days *recent);

/* Whether they hold all gains from that date on. Not of days that are not known. */
bool recent_reaches(const struct recent_days *recent, int32_t from);

/* Those in [from, to], for a range that they reach. */
const struct day_gain *recent_within(const struct recent_days *recent, int32_t from, int32_t to,
                                     size_t *count);

#endif

/* Decides how often a post is read. Normally every run reads every post. If the quota or the time of a run is
 * not sufficient for all posts, the interval depends on the age of the post. A post that its platform has not
 * returned for a day is read once a day. Pure functions. */
#ifndef VT_FETCH_READ_INTERVAL_H
#define VT_FETCH_READ_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* Age of a post: up to a day, up to a week, or older. */
enum age_class { AGE_DAY, AGE_WEEK, AGE_OLDER };
enum { AGE_CLASSES = 3 };

/* Returns the age class of a post at `now`. */
enum age_class age_class_of(int64_t posted_at, int64_t now);

/* Returns the age-based interval in hours between two reads of a post: 1, 6 or 24. */
int read_interval_hours(enum age_class age);

/* Returns true if the run at `now` reads the post when age-based intervals are used. `key` distributes the
 * posts of an age class evenly over the hours of its interval. `read_at` is the time of the last read
 * (TIME_NONE: never). A post that was not read in its hour is due in the next run. */
bool read_is_due(enum age_class age, uint64_t key, int64_t read_at, int64_t now);

/* ---- posts that the platform does not return ---- */

enum { MISSES_UNTIL_DAILY = 3 };

/* Returns true if a post that the platform does not return is to be read only once a day: from the third
 * consecutive miss on, if the first miss was at least a day ago. */
bool missing_is_daily(int misses, int64_t missed_since, int64_t now);

/* Returns true if a run at `now` reads a post with this history of misses. `requested_at` is the time of the
 * last request. */
bool missing_is_due(int misses, int64_t missed_since, int64_t requested_at, int64_t now);

#endif

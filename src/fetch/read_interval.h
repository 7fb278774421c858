/* Who is asked for how often. Every post every hour, as long as quota and run suffice for all; else by age,
 * the older the more seldom. A post that the platform has left out for a day is asked for once a day. Pure.
 */
#ifndef VT_FETCH_READ_INTERVAL_H
#define VT_FETCH_READ_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* Up to a day old, up to a week, up to the end. */
enum ladder_rung { RUNG_DAY, RUNG_WEEK, RUNG_MONTH };
enum { RUNGS = 3 };

enum ladder_rung ladder_rung_of(int64_t posted_at, int64_t now);

/* Hours from one reading to the next: 1, 6, 24. */
int ladder_hours(enum ladder_rung rung);

/* Whether a post is asked for in the run at `now` while the ladder is in force. `key` spreads the posts of a
 * rung over its hours; `read_at` is when it was read last, TIME_NONE: never. One that missed its hour is due
 * in the next run. */
bool ladder_is_due(enum ladder_rung rung, uint64_t key, int64_t read_at, int64_t now);

/* ---- posts that the platform leaves out ---- */

enum { MISSES_UNTIL_DAILY = 3 };

/* From the third miss in a row over a day or more on: once a day. */
bool missing_is_daily(int misses, int64_t missed_since, int64_t now);
bool missing_is_due(int misses, int64_t missed_since, int64_t asked_at, int64_t now);

#endif

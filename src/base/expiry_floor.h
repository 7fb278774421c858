/* The clock that expiry is decided by. The wall clock may be set back, which must not make an expired
 * invitation, code, link or session valid again. Therefore expiry is compared with max(wall clock, floor).
 *
 * The floor follows the wall clock and is stored in the database (store/stored_floor.h), so that processes
 * share it and it survives a restart. Between two observations it advances with the monotonic clock: what is
 * issued while the wall clock is behind the floor still expires on time.
 *
 * A wall clock that is more than EXPIRY_JUMP_MS ahead of the floor may be wrong. The floor adopts it only
 * after EXPIRY_ADOPT_MS of monotonic time; meanwhile nothing is deleted that would be valid by the floor. So
 * a clock that is ten years ahead for an hour ends nothing for good. */
#ifndef VT_BASE_EXPIRY_FLOOR_H
#define VT_BASE_EXPIRY_FLOOR_H

#include "base/clock.h"

#include <stdbool.h>

#define EXPIRY_JUMP_MS  HOUR_MS
#define EXPIRY_ADOPT_MS DAY_MS

/* Processes exchange the floor once a minute, so their clocks differ by what the wall clock and the monotonic
 * clock drift apart in that time. Something issued that much ahead was issued just now by another process. */
#define EXPIRY_SKEW_MS MINUTE_MS

/* All times in ms; 0: none. */
struct expiry_state {
    int64_t floor_ms;      /* 0: never observed */
    int64_t ahead_wall_ms; /* the wall clock when it was last observed to be too far ahead; 0: it is not */
    int64_t ahead_for_ms;  /* monotonic time for which that has been observed */
};

/* Applies one observation of the wall clock. `running_ms` is the floor of this process (expiry_floor_ms()).
 * `elapsed_ms` is the monotonic time since this process's last observation, 0 for its first one.
 *
 * The first observation of a database adopts the wall clock whatever it is. The 24 hours continue in another
 * process, or after a restart, if the wall clock then is within EXPIRY_JUMP_MS of where it was expected; time
 * in which no process runs does not count. Several processes may observe the same state in turn: together
 * they count no more than the wall clock has advanced. */
void expiry_observe(struct expiry_state *s, int64_t wall_ms, int64_t running_ms, int64_t elapsed_ms);

/* The floor of this process was `floor_ms` at `mono_ms`. Never lowers it. Any thread. */
void expiry_raise_floor(int64_t floor_ms, int64_t mono_ms);

/* For everything that expires: take both the time of issue and the time of the check from here. Any thread.
 */
int64_t expiry_now_ms(void);

/* Whether something issued at `issued_ms` with a life of `life_ms` has expired at `now_ms`. Something issued
 * more than EXPIRY_SKEW_MS in the future has: the clock was wrong when it was issued. */
bool expiry_has_passed(int64_t issued_ms, int64_t life_ms, int64_t now_ms);

/* For deleting what has expired: what has expired by the floor is never valid again. 0 as long as no floor is
 * known. Any thread. */
int64_t expiry_floor_ms(void);

#endif

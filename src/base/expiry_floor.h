/* The clock for everything that expires. The wall clock may be set back, which must not make an expired
 * invitation, code, link or session valid again. Expiry therefore uses max(wall clock, floor).
 *
 * The floor follows the wall clock and is stored in the database (store/stored_floor.h), so that processes
 * share it and it survives a restart. Between two observations it advances with the monotonic clock, so that
 * something issued while the wall clock is behind the floor still expires on time.
 *
 * A wall clock more than EXPIRY_JUMP_MS ahead of the floor may be wrong. The floor adopts it only after
 * EXPIRY_ADOPT_MS of monotonic time, and nothing is deleted before it has expired by the floor. So a clock
 * that is ten years ahead for an hour deletes nothing. */
#ifndef VT_BASE_EXPIRY_FLOOR_H
#define VT_BASE_EXPIRY_FLOOR_H

#include "base/clock.h"

#include <stdbool.h>

#define EXPIRY_JUMP_MS  HOUR_MS
#define EXPIRY_ADOPT_MS DAY_MS

/* Processes share the floor once a minute; in between, their expiry clocks may drift apart. Something issued
 * up to this far in the future was issued just now by another process. */
#define EXPIRY_SKEW_MS MINUTE_MS

/* Stored in the database. All times in ms. */
struct expiry_state {
    int64_t floor_ms;      /* 0: never observed */
    int64_t ahead_wall_ms; /* wall clock when last observed too far ahead; 0: not too far ahead */
    int64_t ahead_for_ms;  /* monotonic time for which it has been too far ahead */
};

/* Applies one observation of the wall clock. `running_ms` is the floor of this process (expiry_floor_ms()).
 * `elapsed_ms` is the monotonic time since this process's last observation, 0 for its first one.
 *
 * The first observation of a database adopts any wall clock. Another process, or the same one after a
 * restart, continues the wait of EXPIRY_ADOPT_MS if the wall clock is within EXPIRY_JUMP_MS of the expected
 * time; time in which no process runs does not count. If several processes observe the same state, they
 * together count no more than the wall clock has advanced. */
void expiry_observe(struct expiry_state *s, int64_t wall_ms, int64_t running_ms, int64_t elapsed_ms);

/* Sets the floor of this process to `floor_ms` as of `mono_ms`, unless it is higher already. Any thread. */
void expiry_raise_floor(int64_t floor_ms, int64_t mono_ms);

/* The expiry clock. Use it for the time of issue and for the time of the check. Any thread. */
int64_t expiry_now_ms(void);

/* True if something issued at `issued_ms` with a lifetime of `life_ms` has expired at `now_ms`, or if it was
 * issued more than EXPIRY_SKEW_MS in the future, because then the clock was wrong when it was issued. */
bool expiry_has_passed(int64_t issued_ms, int64_t life_ms, int64_t now_ms);

/* For deleting expired rows: a row that has expired by the floor never becomes valid again. 0 before the
 * first floor is known. Any thread. */
int64_t expiry_floor_ms(void);

#endif

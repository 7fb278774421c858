/* The clock for everything that expires: invitations, codes, links and sessions. Setting the wall clock back
 * must not make an expired item valid again. The expiry clock is therefore the later of the wall clock and
 * the floor.
 *
 * The floor follows the wall clock but never goes back. It is stored in the database (store/stored_floor.h),
 * so that processes share it and it survives a restart. Between two observations of the wall clock, the floor
 * advances with the monotonic clock, so that an item issued while the wall clock is behind the floor still
 * expires on time.
 *
 * A wall clock that is more than EXPIRY_JUMP_MS ahead of the floor may be wrong. The floor adopts it only if
 * it stays ahead for EXPIRY_ADOPT_MS of monotonic time. An item is deleted only if it has expired according
 * to the floor. So a wall clock that is ten years ahead for an hour causes no deletion. */
#ifndef VT_BASE_EXPIRY_FLOOR_H
#define VT_BASE_EXPIRY_FLOOR_H

#include "base/clock.h"

#include <stdbool.h>

#define EXPIRY_JUMP_MS  HOUR_MS
#define EXPIRY_ADOPT_MS DAY_MS

/* Processes share the floor once a minute; in between, their expiry clocks may drift apart. An item whose
 * time of issue is at most this far in the future counts as issued just now by another process. */
#define EXPIRY_SKEW_MS MINUTE_MS

/* The state that is stored in the database, with all times in ms. */
struct expiry_state {
    int64_t floor_ms;      /* 0 before the first observation */
    int64_t ahead_wall_ms; /* the wall clock at the last observation if it was more than EXPIRY_JUMP_MS ahead
                              of the floor; otherwise 0 */
    int64_t ahead_for_ms;  /* how long the wall clock has been more than EXPIRY_JUMP_MS ahead, measured with
                              the monotonic clock */
};

/* Updates `s` with one observation of the wall clock. `running_ms` is the floor of this process
 * (expiry_floor_ms()). `elapsed_ms` is the monotonic time since this process's last observation; 0 for the
 * first one.
 *
 * The first observation of a new database adopts the wall clock, whatever time it shows. The wait of
 * EXPIRY_ADOPT_MS continues in another process, or after a restart, if the wall clock is within
 * EXPIRY_JUMP_MS of the expected time (ahead_wall_ms + elapsed_ms). Time in which no process runs does not
 * count toward the wait. If several processes observe the wall clock, the time that they count together is
 * never longer than the time by which the wall clock has advanced. */
void expiry_observe(struct expiry_state *s, int64_t wall_ms, int64_t running_ms, int64_t elapsed_ms);

/* Raises the floor of this process to `floor_ms` plus the time since `mono_ms` (monotonic clock). Does
 * nothing if the floor is already higher. Thread-safe. */
void expiry_raise_floor(int64_t floor_ms, int64_t mono_ms);

/* Returns the expiry clock. Use it for the time of issue and for the time of the check. Thread-safe. */
int64_t expiry_now_ms(void);

/* Returns true if an item issued at `issued_ms` with a lifetime of `life_ms` has expired at `now_ms`. Also
 * returns true if `issued_ms` is more than EXPIRY_SKEW_MS in the future, because the clock must have been
 * wrong when the item was issued. */
bool expiry_has_passed(int64_t issued_ms, int64_t life_ms, int64_t now_ms);

/* Returns the floor, for deleting expired rows: a row that has expired according to the floor never becomes
 * valid again. Returns 0 if the floor is not known yet. Thread-safe. */
int64_t expiry_floor_ms(void);

#endif

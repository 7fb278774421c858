/* Stores the floor of this process as its difference from the monotonic clock. So the floor advances
 * without updates, and a single atomic number is enough for all threads. */
#include "base/expiry_floor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* The value of floor_ahead_ms before expiry_raise_floor() is called for the first time. */
#define NO_FLOOR INT64_MIN

static _Atomic int64_t floor_ahead_ms = NO_FLOOR;

/* Returns how much of the time since this process's last observation counts toward EXPIRY_ADOPT_MS: at most
 * the time by which the wall clock has advanced since the last observation by any process. So two processes
 * do not count the same minute twice. */
static int64_t observed_ms(const struct expiry_state *s, int64_t wall_ms, int64_t elapsed_ms)
{
    int64_t advance_ms = wall_ms - s->ahead_wall_ms;
    int64_t ms = elapsed_ms < advance_ms ? elapsed_ms : advance_ms;
    return ms > 0 ? ms : 0;
}

static void adopt(struct expiry_state *s, int64_t wall_ms)
{
    if (wall_ms > s->floor_ms)
        s->floor_ms = wall_ms;
    s->ahead_wall_ms = s->ahead_for_ms = 0;
}

void expiry_observe(struct expiry_state *s, int64_t wall_ms, int64_t running_ms, int64_t elapsed_ms)
{
    const bool is_first = !s->floor_ms;
    if (!is_first && running_ms > s->floor_ms)
        s->floor_ms = running_ms;
    if (is_first || wall_ms - s->floor_ms <= EXPIRY_JUMP_MS) {
        adopt(s, wall_ms);
        return;
    }
    const bool is_still_ahead =
        s->ahead_wall_ms && llabs(wall_ms - (s->ahead_wall_ms + elapsed_ms)) <= EXPIRY_JUMP_MS;
    s->ahead_for_ms = is_still_ahead ? s->ahead_for_ms + observed_ms(s, wall_ms, elapsed_ms) : 0;
    s->ahead_wall_ms = wall_ms;
    if (s->ahead_for_ms >= EXPIRY_ADOPT_MS)
        adopt(s, wall_ms);
}

void expiry_raise_floor(int64_t floor_ms, int64_t mono_ms)
{
    const int64_t ahead_ms = floor_ms - mono_ms;
    int64_t known_ms = atomic_load(&floor_ahead_ms);
    while (known_ms < ahead_ms && !atomic_compare_exchange_weak(&floor_ahead_ms, &known_ms, ahead_ms))
        continue;
}

int64_t expiry_floor_ms(void)
{
    const int64_t ahead_ms = atomic_load(&floor_ahead_ms);
    if (ahead_ms == NO_FLOOR)
        return 0;
    const int64_t floor_ms = clock_mono_ms() + ahead_ms, wall_ms = clock_wall_ms();
    /* Returns the floor that expiry_observe() would adopt now. */
    return wall_ms > floor_ms && wall_ms - floor_ms <= EXPIRY_JUMP_MS ? wall_ms : floor_ms;
}

int64_t expiry_now_ms(void)
{
    const int64_t wall_ms = clock_wall_ms(), floor_ms = expiry_floor_ms();
    return wall_ms > floor_ms ? wall_ms : floor_ms;
}

bool expiry_has_passed(int64_t issued_ms, int64_t life_ms, int64_t now_ms)
{
    return issued_ms - now_ms > EXPIRY_SKEW_MS || now_ms - issued_ms >= life_ms;
}

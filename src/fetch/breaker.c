/* Implements the transitions between the three states of a circuit breaker. */
#include "fetch/breaker.h"

#include "base/clock.h"

enum { OPEN_MINUTES = 5, OPEN_MINUTES_MAX = 60, LEVELS = 5 };

static int64_t open_ms(int level)
{
    int64_t minutes = OPEN_MINUTES;
    for (int i = 1; i < level && minutes < OPEN_MINUTES_MAX; i++)
        minutes *= 2;
    return (minutes < OPEN_MINUTES_MAX ? minutes : OPEN_MINUTES_MAX) * MINUTE_MS;
}

void breaker_restore(struct breaker *b, int level, int64_t until, int64_t now)
{
    *b = (struct breaker){0};
    if (level <= 0)
        return;
    b->level = level < LEVELS ? level : LEVELS;
    const int64_t latest = now + open_ms(b->level);
    b->until = until < latest ? until : latest;
    if (b->until < 1)
        b->until = 1;
}

int64_t breaker_ready_at(const struct breaker *b, int64_t now)
{
    if (!b->until)
        return now;
    return b->probe ? INT64_MAX : b->until;
}

void breaker_begin(struct breaker *b, const void *call, int64_t now)
{
    if (b->until && now >= b->until && !b->probe)
        b->probe = call;
}

/* Returns true if the circuit must open. */
static bool record_call(struct breaker *b, bool good)
{
    const uint64_t all = (UINT64_C(1) << BREAKER_WINDOW) - 1;
    b->in_a_row = good ? 0 : b->in_a_row + 1;
    b->window = (b->window << 1 | !good) & all;
    if (b->window_count < BREAKER_WINDOW)
        b->window_count++;
    return b->in_a_row >= BREAKER_IN_A_ROW ||
           (b->window_count == BREAKER_WINDOW && __builtin_popcountll(b->window) > BREAKER_WINDOW / 2);
}

static void open_circuit(struct breaker *b, int64_t now)
{
    b->level = b->level < LEVELS ? b->level + 1 : LEVELS;
    b->until = now + open_ms(b->level);
    b->probe = NULL;
    b->in_a_row = b->window_count = 0;
    b->window = 0;
}

bool breaker_end(struct breaker *b, const void *call, bool good, int64_t now)
{
    if (b->until && b->probe != call)
        return false;
    if (b->until && good) {
        *b = (struct breaker){0};
        return true;
    }
    if (!b->until && !record_call(b, good))
        return false;
    open_circuit(b, now);
    return true;
}

void breaker_cancel(struct breaker *b, const void *call)
{
    if (b->probe == call)
        b->probe = NULL;
}

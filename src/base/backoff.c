/* Uses a linear congruential generator, which is random enough to spread the attempts of many processes. */
#include "base/backoff.h"

enum { FIRST_MS = 100, MAX_MS = 5000 };

void backoff_reset(struct backoff *b)
{
    b->ms = FIRST_MS;
}

int backoff_next(struct backoff *b)
{
    b->random = b->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const int half = b->ms / 2;
    const int pause = half + (int)((b->random >> 33) % (uint64_t)(half + 1));
    b->ms = b->ms * 2 > MAX_MS ? MAX_MS : b->ms * 2;
    return pause;
}

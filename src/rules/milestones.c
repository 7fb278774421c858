/* The table ends at 5 x 10^15, because the next value exceeds the largest count. */
#include "rules/milestones.h"

#define DECADE(unit) (unit), 2 * (unit), 5 * (unit)

static const int64_t values[] = {
    1000,
    10000,
    50000,
    100000,
    250000,
    500000,
    DECADE(INT64_C(1000000)),
    DECADE(INT64_C(10000000)),
    DECADE(INT64_C(100000000)),
    DECADE(INT64_C(1000000000)),
    DECADE(INT64_C(10000000000)),
    DECADE(INT64_C(100000000000)),
    DECADE(INT64_C(1000000000000)),
    DECADE(INT64_C(10000000000000)),
    DECADE(INT64_C(100000000000000)),
    DECADE(INT64_C(1000000000000000)),
};
_Static_assert(sizeof values / sizeof values[0] == MILESTONES_MAX, "the store packs them all");

size_t milestones_between(int64_t above, int64_t upto, int64_t out[MILESTONES_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < MILESTONES_MAX && values[i] <= upto; i++)
        if (values[i] > above)
            out[n++] = values[i];
    return n;
}

/* The milestone values (decision 5) and which of them lie in an interval. Pure. */
#ifndef VT_RULES_MILESTONES_H
#define VT_RULES_MILESTONES_H

#include "store/model.h"

#include <stddef.h>

/* Fills `out` with the values in (above, upto], ascending, and returns how many. */
size_t milestones_between(int64_t above, int64_t upto, int64_t out[MILESTONES_MAX]);

#endif

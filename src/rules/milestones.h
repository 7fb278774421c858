/* The milestone values: the view counts at which a video gets a milestone event. */
#ifndef VT_RULES_MILESTONES_H
#define VT_RULES_MILESTONES_H

#include "store/model.h"

#include <stddef.h>

/* Writes the milestone values above `above` and up to `upto` to `out`, in ascending order. Returns their
 * number. */
size_t milestones_between(int64_t above, int64_t upto, int64_t out[MILESTONES_MAX]);

#endif

/* Computes the viral threshold from the views of the author's other videos. */
#ifndef VT_RULES_VIRAL_H
#define VT_RULES_VIRAL_H

#include "rules/rule_settings.h"
#include "store/model.h"

#include <stddef.h>

/* Minimum number of comparable videos; with fewer there is no median. */
enum { COMPARE_LEAST = 5 };

/* A value of `skip` that skips no video. */
#define SKIP_NONE SIZE_MAX

/* Returns the comparison with the author's comparable videos. `sorted` contains the views of these `n` videos
 * in ascending order. The element at index `skip` is ignored, because no video is compared with itself. */
struct viral_comparison viral_comparison_of(const int64_t *sorted, size_t n, size_t skip,
                                            const struct step_rules *rules);

#endif

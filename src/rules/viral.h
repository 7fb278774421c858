/* The viral line (decision 4) as arithmetic: what a video has to reach, from the views of the author's other
 * videos. Pure. */
#ifndef VT_RULES_VIRAL_H
#define VT_RULES_VIRAL_H

#include "rules/rule_settings.h"
#include "store/model.h"

#include <stddef.h>

/* Fewer comparable videos than this have no median. */
enum { COMPARE_LEAST = 5 };

/* No video is left out of `sorted`. */
#define SKIP_NONE SIZE_MAX

/* `sorted` holds the views of the author's comparable videos, ascending; the one at index `skip` (SKIP_NONE:
 * none) does not count: that is how many videos are decided from one array although none is compared with
 * itself. */
struct viral_comparison viral_comparison_of(const int64_t *sorted, size_t n, size_t skip,
                                            const struct step_rules *rules);

#endif

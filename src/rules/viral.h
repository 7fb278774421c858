/* The viral threshold (decision 4) from the views of the author's other videos. */
#ifndef VT_RULES_VIRAL_H
#define VT_RULES_VIRAL_H

#include "rules/rule_settings.h"
#include "store/model.h"

#include <stddef.h>

/* With fewer comparable videos there is no median. */
enum { COMPARE_LEAST = 5 };

/* For `skip`: skips no video. */
#define SKIP_NONE SIZE_MAX

/* `sorted` holds the views of the author's `n` comparable videos in ascending order. The one at index `skip`
 * is ignored: all of an author's videos are compared with one array, but no video with itself. */
struct viral_comparison viral_comparison_of(const int64_t *sorted, size_t n, size_t skip,
                                            const struct step_rules *rules);

#endif

/* The survey at the start of a run counts the posts, and the calls needed to read all of them. It decides
 * whether age-based read intervals are needed. */
#ifndef VT_FETCH_SURVEY_H
#define VT_FETCH_SURVEY_H

#include "fetch/platform_walk.h"

/* Makes the survey. Sets `by_age`, `passes` and `planned` of each walk, and the spread and the retry budget
 * of each throttle. */
MUST_USE enum err survey_make(struct run *run, struct api_queue apis[PLATFORM_APIS],
                              struct platform_walk walks[PLATFORM_COUNT]);

#endif

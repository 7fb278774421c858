/* Checks whether the numbers of an export agree with each other. Each function returns NULL, or the reason
 * why the line is rejected, as a static text. Every video that was written only by steps (rules/step.h),
 * finalizing and corrections satisfies these rules. */
#ifndef VT_IMPORT_EXPORT_CHECK_H
#define VT_IMPORT_EXPORT_CHECK_H

#include "import/export_record.h"

/* Checks the posts of a video line: all fields are given, and the platforms ascend. */
const char *export_check_posts(const struct video_record *record);

/* Copies the state into the video and checks it. `video` already has the posts of the video line. Times may
 * be at most one minute after `now`. */
const char *export_check_state(const struct exported_state *state, struct video *video, int64_t now);

/* Checks the days of a state: they ascend, lie between the first and the last reading of the video, and
 * together with the baseline they add up to its views. Copies them to `days`, which has room for all of
 * them. */
const char *export_check_days(const struct exported_state *state, const struct video *video,
                              struct day_gain *days);

/* Copies the event and checks that it agrees with the milestones and the viral data of its video. */
const char *export_check_event(const struct exported_event *record, const struct video *video,
                               struct event *event);

#endif

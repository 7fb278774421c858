/* The views that an author's videos have gained per day and platform (the table author_daily).
 *
 * Invariant: on each day, the sum over the platforms is at most the sum of the gains of the author's videos.
 * The difference is called "not split": gains from before the table existed, and gains that an older release
 * has recorded. To keep the invariant, call store_add_platform_gain() in each transaction that adds a gain to
 * a video, and store_subtract_platform_gains() in each one that removes gains. */
#ifndef VT_STORE_AUTHOR_DAYS_H
#define VT_STORE_AUTHOR_DAYS_H

#include "store/read.h"

/* The day of the rows with the baselines, which were not gained on any day. It precedes all dates. */
#define DAY_BASELINE INT32_MIN
/* Sums of gains saturate at this number. */
#define AUTHOR_GAINED_MAX (INT64_C(1) << 60)

/* Adds views that the author's videos have gained on a platform to the author's row of that day and platform.
 */
MUST_USE enum err store_add_platform_gain(struct store *s, int64_t author_row, int32_t day,
                                          enum platform platform, int64_t gained);

/* Subtracts `gained` from the gains of a day (or from the baselines, with DAY_BASELINE) because the caller
 * removes these gains from the video. The table does not record which platform gained them. So the function
 * subtracts from the platform `preferred` first (-1: none), and then from all platforms of the video in
 * proportion to the views of its posts. If the rows contain less than `gained`, the function subtracts only
 * what they contain, because the remaining gains were not split. */
MUST_USE enum err store_subtract_platform_gains(struct store *s, const struct video *video, int preferred,
                                                int32_t day, int64_t gained);

/* Subtracts all gains and the baseline of a video from the days of its author. Call before deleting the
 * video. */
MUST_USE enum err store_subtract_video_gains(struct store *s, const struct video *video);

/* The position of a row in the order (day, platform). */
struct author_day_position {
    int64_t day; /* INT64_MIN: before the first row */
    int platform;
};
struct author_days_query {
    int64_t author_row;
    int32_t to;
    struct author_day_position after;
    int limit;
};
struct author_day {
    int32_t day;
    enum platform platform;
    int64_t gained;
};
struct author_days_progress {
    struct author_day_position next;
    bool more;
    int64_t author_rev; /* the author's revision in the snapshot of this call */
};
typedef void (*store_author_day_fn)(void *ctx, const struct author_day *day);
/* Lists at most query->limit rows of an author by day and platform, from the position query->after to the
 * date query->to. The rows of DAY_BASELINE come first. */
enum next store_list_author_days(struct store_read *read, const struct author_days_query *query,
                                 store_author_day_fn fn, void *ctx, struct author_days_progress *progress);

#endif

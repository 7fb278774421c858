/* The stored gains of a video by day. The column `days` is valid if its sum is views - baseline. Otherwise
 * the previous release has written the video, or the migration has not reached it yet, and the gains are read
 * from the table `daily` (schema/018_video_days.sql). */
#ifndef VT_STORE_STORED_DAYS_H
#define VT_STORE_STORED_DAYS_H

#include "base/arena.h"
#include "store/handle.h"

/* The columns of a video from which its gains are read. */
struct stored_days {
    int64_t video_row;
    struct str packed; /* the column `days` */
    int64_t total;     /* views - baseline */
};
static inline struct stored_days stored_days_of(const struct video *video)
{
    return (struct stored_days){
        .video_row = video->row, .packed = video->days, .total = video->views - video->baseline};
}

/* Reads the gains from the date `from` to `to` (inclusive) into s->days, ascending. Sets `*total_before` to
 * the sum of the gains before `from`. Returns ERR_CORRUPT if the column is damaged. */
MUST_USE enum err stored_days_read(struct store *s, const struct stored_days *days, int32_t from, int32_t to,
                                   int64_t *total_before);

/* Like stored_days_read(), for all dates. */
MUST_USE enum err stored_days_read_all(struct store *s, const struct stored_days *days);

/* Sets `video->days` to a valid column, which is copied into the arena. Call right after reading `video`,
 * while video->days still is the stored column. */
MUST_USE enum err stored_days_load(struct store *s, struct arena *a, struct video *video);

/* Sets `video->days` to the packed form of s->days, which is allocated in the arena. */
MUST_USE enum err stored_days_pack(struct store *s, struct arena *a, struct video *video);

#endif

/* Summary of an author's numbers over all videos: totals, totals by platform, and views per day.
 *
 * It is computed in batches of videos, so that an author with 10,000 videos does not delay other requests.
 * The result is cached. A cached result is valid for one revision of the author, which every change of the
 * author's data increments, for one day, and until the next video becomes 30 days old. If two authors share a
 * cache slot, the later result replaces the earlier one. */
#ifndef VT_WEB_SUMMARY_H
#define VT_WEB_SUMMARY_H

#include "store/read.h"

enum { SUMMARY_DAYS = 60 };

struct summary {
    int64_t author_row; /* 0 if the cache slot is empty */
    int64_t author_rev;
    int32_t today;
    int64_t videos, viral_videos;
    int64_t open_videos; /* videos that are less than 30 days old, so their counts still change */
    int64_t open_until;  /* time at which the first of the open videos becomes 30 days old; INT64_MAX if no
                            video is open */
    int64_t read_videos; /* videos with at least one reading */
    int64_t views;
    int64_t platform_videos[PLATFORM_COUNT], platform_views[PLATFORM_COUNT];
    /* The index is a day; the last element is today. */
    int64_t gained[SUMMARY_DAYS];
    int32_t viral[SUMMARY_DAYS]; /* number of videos that went viral on that day */
};

struct summary_cache;
/* Never returns NULL. */
struct summary_cache *summary_cache_new(void);
void summary_cache_free(struct summary_cache *cache);

/* The computation for one request. */
struct summary_work {
    struct store_read *read;
    struct summary sum;
    int64_t now;
    bool videos_done; /* the first pass, over the videos, is complete, and the second pass reads the days */
    bool mixed;       /* the author's data changed between two batches; do not cache the result */
    struct videos_query videos;
    int seen; /* number of videos in the current batch */
    struct stats_query days;
    struct stats_progress progress;
};

/* Returns true if the cache has a summary that is valid at `now`; w->sum is then a copy of it.
 * Otherwise prepares `w` for the first batch and returns false. */
bool summary_begin(struct summary_work *w, const struct summary_cache *cache, struct store_read *read,
                   int64_t author_row, int64_t author_rev, int64_t now);

/* Starts to read one batch. Return the value of this function from the current step, and call
 * summary_finish_batch() in the next step. */
enum next summary_read_batch(struct summary_work *w);
/* Adds the batch to w->sum. SUMMARY_MORE: read the next batch. SUMMARY_READY: w->sum is complete, and has
 * been cached unless w->mixed is true. SUMMARY_FAILED: the error is read->err. */
enum summary_state { SUMMARY_MORE, SUMMARY_READY, SUMMARY_FAILED };
enum summary_state summary_finish_batch(struct summary_work *w, struct summary_cache *cache);

#endif

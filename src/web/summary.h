/* An author's numbers over all videos: totals, platforms, and the gains of the last 60 days.
 *
 * They are gathered in slices, for an author may have 10,000 videos and nobody else waits for them: all
 * videos first, then the days of those that were read in these 60. A result is kept under the author's
 * revision, which grows with every change, until another author takes its place. */
#ifndef VT_WEB_SUMMARY_H
#define VT_WEB_SUMMARY_H

#include "store/read.h"

enum { SUMMARY_DAYS = 60 };

struct summary {
    int64_t author_row; /* 0: nothing */
    int64_t author_rev;
    int32_t today;
    int64_t videos, viral_videos;
    int64_t open_videos; /* younger than 30 days: their counts still move */
    int64_t read_videos; /* that have a reading */
    int64_t views;
    int64_t platform_videos[PLATFORM_COUNT], platform_views[PLATFORM_COUNT];
    /* By day, the last is today. */
    int64_t gained[SUMMARY_DAYS];
    int32_t viral[SUMMARY_DAYS]; /* how many videos went viral on it */
};

struct summary_cache;
struct summary_cache *summary_cache_new(void);
void summary_cache_free(struct summary_cache *cache);

/* The work of one request. */
struct summary_work {
    struct store_read *read;
    struct summary sum;
    int64_t now;
    bool counted; /* all videos were seen; days are next */
    bool mixed;   /* the author's data changed meanwhile: the sums may be of two states */
    struct videos_query videos;
    int seen; /* of a slice of videos */
    struct stats_query days;
    struct stats_progress progress;
};

/* Takes the kept result: true when there is one of this author, revision and day. Else a new work begins. */
bool summary_begin(struct summary_work *w, const struct summary_cache *cache, struct store_read *read,
                   int64_t author_row, int64_t author_rev, int64_t now);

/* A starter: reads one slice. Then summary_finish_batch() says what it brought. */
enum next summary_read_batch(struct summary_work *w);
enum summary_state { SUMMARY_MORE, SUMMARY_READY, SUMMARY_FAILED /* read->err */ };
enum summary_state summary_finish_batch(struct summary_work *w, struct summary_cache *cache);

#endif

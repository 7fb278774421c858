/* Computes the summary in two passes: first over all videos, then over their days.
 *
 * Only the second pass compares revisions with the author's revision that was read before the first pass. If
 * every read of the second pass reports the same revision, the data has not changed during the first pass
 * either. If the revision changed, the summary is shown but not cached. The summary is not computed again,
 * because during an import a slightly inconsistent page is better than none. */
#include "web/summary.h"

#include "base/check.h"
#include "base/clock.h"
#include "web/humanize.h"

#include <stdlib.h>

enum { VIDEOS_PER_BATCH = 64, DAYS_PER_BATCH = 32, CACHE_SLOTS = 64 };

struct summary_cache {
    struct summary slots[CACHE_SLOTS];
};

struct summary_cache *summary_cache_new(void)
{
    struct summary_cache *cache = xmalloc(sizeof *cache);
    *cache = (struct summary_cache){0};
    return cache;
}

void summary_cache_free(struct summary_cache *cache)
{
    free(cache);
}

static size_t slot_of(int64_t author_row)
{
    return (size_t)((uint64_t)author_row % CACHE_SLOTS);
}

bool summary_begin(struct summary_work *w, const struct summary_cache *cache, struct store_read *read,
                   int64_t author_row, int64_t author_rev, int64_t now)
{
    const struct summary *cached = &cache->slots[slot_of(author_row)];
    int32_t today = date_of(now);
    if (cached->author_row == author_row && cached->author_rev == author_rev && cached->today == today &&
        now <= cached->open_until) {
        w->sum = *cached;
        return true;
    }
    *w = (struct summary_work){.read = read, .now = now};
    w->sum.author_row = author_row;
    w->sum.author_rev = author_rev;
    w->sum.today = today;
    w->sum.open_until = INT64_MAX;
    w->videos = (struct videos_query){.author_row = author_row,
                                      .posted_from = INT64_MIN,
                                      .posted_to = INT64_MAX,
                                      .viral = VIRAL_ANY,
                                      .limit = VIDEOS_PER_BATCH};
    w->days = (struct stats_query){
        .author_row = author_row, .from = today - (SUMMARY_DAYS - 1), .to = today, .limit = DAYS_PER_BATCH};
    return false;
}

/* Returns the index of a day in the arrays, or -1 if it is outside of the period. */
static int day_index(const struct summary *sum, int32_t date)
{
    int32_t i = date - (sum->today - (SUMMARY_DAYS - 1));
    return i < 0 || i >= SUMMARY_DAYS ? -1 : i;
}

static void add_count(int64_t *sum, int64_t v)
{
    *sum = count_add_saturating(*sum, v);
}

static void add_posts(struct summary *sum, const struct video *v)
{
    for (size_t i = 0; i < v->post_count; i++) {
        const struct post *post = &v->posts[i];
        sum->platform_videos[post->platform]++;
        if (post->counts[COUNT_VIEWS] != COUNT_NONE)
            add_count(&sum->platform_views[post->platform], post->counts[COUNT_VIEWS]);
    }
}

static void count_if_open(struct summary *sum, const struct video *v, int64_t now)
{
    const int64_t open_until = v->posted_at + VIDEO_LIFE_DAYS * DAY_MS;
    if (now > open_until)
        return;
    sum->open_videos++;
    if (open_until < sum->open_until)
        sum->open_until = open_until;
}

static bool on_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    struct summary_work *w = ctx;
    struct summary *sum = &w->sum;
    (void)book;
    w->seen++;
    w->videos.has_after = true;
    w->videos.after = (struct video_position){.value = v->posted_at, .id = v->id};
    sum->videos++;
    count_if_open(sum, v, w->now);
    sum->read_videos += v->first_reading_at != TIME_NONE;
    add_count(&sum->views, v->views);
    add_posts(sum, v);
    if (v->went_viral_at != TIME_NONE) {
        int i = day_index(sum, date_of(v->went_viral_at));
        sum->viral_videos++;
        if (i >= 0)
            sum->viral[i]++;
    }
    return true;
}

static bool on_days(void *ctx, const struct stats_video *row)
{
    struct summary *sum = &((struct summary_work *)ctx)->sum;
    for (size_t n = 0; n < row->day_count; n++) {
        int i = day_index(sum, row->days[n].date);
        if (i >= 0)
            add_count(&sum->gained[i], row->days[n].gained);
    }
    return true;
}

enum next summary_read_batch(struct summary_work *w)
{
    w->seen = 0;
    if (!w->videos_done)
        return store_list_videos(w->read, &w->videos, on_video, w);
    return store_list_stats(w->read, &w->days, on_days, w, &w->progress);
}

enum summary_state summary_finish_batch(struct summary_work *w, struct summary_cache *cache)
{
    if (w->read->err)
        return SUMMARY_FAILED;
    if (!w->videos_done) {
        w->videos_done = w->seen < VIDEOS_PER_BATCH;
        return SUMMARY_MORE;
    }
    w->mixed |= w->progress.author_rev != w->sum.author_rev;
    w->days.has_after = true;
    w->days.after = w->progress.next;
    if (w->progress.more)
        return SUMMARY_MORE;
    if (!w->mixed)
        cache->slots[slot_of(w->sum.author_row)] = w->sum;
    return SUMMARY_READY;
}

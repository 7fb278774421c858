/* Gathering. Knows the store's reads and the calendar; knows no page.
 *
 * The revision is compared in the second part only: when every slice of days saw the one that the work began
 * with, nothing changed since, the first part included. A changed one is not begun anew: a page that is right
 * to the minute is worth more than none while an import runs, and the next visit sees the rest. It is then
 * not kept. */
#include "web/summary.h"

#include "base/check.h"
#include "base/clock.h"
#include "web/humanize.h"

#include <stdlib.h>

enum { VIDEOS_A_SLICE = 64, DAYS_A_SLICE = 32, CACHE_SLOTS = 64 };

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
    const struct summary *kept = &cache->slots[slot_of(author_row)];
    int32_t today = date_of(now);
    if (kept->author_row == author_row && kept->author_rev == author_rev && kept->today == today) {
        w->sum = *kept;
        return true;
    }
    *w = (struct summary_work){.read = read, .now = now};
    w->sum.author_row = author_row;
    w->sum.author_rev = author_rev;
    w->sum.today = today;
    w->videos = (struct videos_query){.author_row = author_row,
                                      .posted_from = INT64_MIN,
                                      .posted_to = INT64_MAX,
                                      .viral = VIRAL_ANY,
                                      .limit = VIDEOS_A_SLICE};
    w->days = (struct stats_query){
        .author_row = author_row, .from = today - (SUMMARY_DAYS - 1), .to = today, .limit = DAYS_A_SLICE};
    return false;
}

/* Of the arrays; -1 outside of them. */
static int index_of(const struct summary *sum, int32_t date)
{
    int32_t i = date - (sum->today - (SUMMARY_DAYS - 1));
    return i < 0 || i >= SUMMARY_DAYS ? -1 : i;
}

static void add(int64_t *sum, int64_t v)
{
    *sum = count_sum(*sum, v);
}

static void add_posts(struct summary *sum, const struct video *v)
{
    for (size_t i = 0; i < v->post_count; i++) {
        const struct post *post = &v->posts[i];
        sum->platform_videos[post->platform]++;
        if (post->counts[COUNT_VIEWS] != COUNT_NONE)
            add(&sum->platform_views[post->platform], post->counts[COUNT_VIEWS]);
    }
}

static bool on_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    struct summary_work *w = ctx;
    struct summary *sum = &w->sum;
    (void)book;
    w->seen++;
    w->videos.has_after = true;
    w->videos.after = (struct video_position){.posted_at = v->posted_at, .id = v->id};
    sum->videos++;
    sum->open_videos += w->now <= v->posted_at + VIDEO_LIFE_DAYS * DAY_MS;
    sum->read_videos += v->first_reading_at != TIME_NONE;
    add(&sum->views, v->views);
    add_posts(sum, v);
    if (v->went_viral_at != TIME_NONE) {
        int i = index_of(sum, date_of(v->went_viral_at));
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
        int i = index_of(sum, row->days[n].date);
        if (i >= 0)
            add(&sum->gained[i], row->days[n].gained);
    }
    return true;
}

enum next summary_read_batch(struct summary_work *w)
{
    w->seen = 0;
    if (!w->counted)
        return store_list_videos(w->read, &w->videos, on_video, w);
    return store_list_stats(w->read, &w->days, on_days, w, &w->progress);
}

enum summary_state summary_finish_batch(struct summary_work *w, struct summary_cache *cache)
{
    if (w->read->err)
        return SUMMARY_FAILED;
    if (!w->counted) {
        w->counted = w->seen < VIDEOS_A_SLICE;
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

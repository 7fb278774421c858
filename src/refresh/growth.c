/* Implements the growth model. Random values are hashes of their purpose, an id, a time and the seed. */
#include "refresh/growth.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"

enum {
    TYPICAL_MIN = 200,
    TYPICAL_MAX = 1000000000,
    THRESHOLD_PER_TYPICAL = 5, /* viral threshold divided by typical views, for an author without a median */
    SLOWDOWN_H = 48,           /* age at which the growth rate of a video has halved */
    SETTLED_DAYS = 4,          /* from this age on, the size of a video is at most 1/SETTLED_SHARE above its
                                  views */
    SETTLED_SHARE = 100,
    TRICKLE_PER_MILLE = 2, /* after reaching its size, a video grows by at most this share per day */
    VIRAL_PERIOD = 9,      /* readings per period; a video may go viral once in each period */
    VIRAL_READINGS = 6,    /* number of readings during which a video goes viral */
    VIRAL_SHARE = 6,       /* only one of six videos can go viral */
    VIRAL_ODDS_MIN = 8     /* a video goes viral in at most one of 8 periods */
};
/* A video has at most five posts, so their sum is below COUNT_MAX. */
#define VIEWS_MAX (COUNT_MAX / 8)

struct platform_habits {
    int64_t weight;                  /* share of the views of a video */
    int64_t pace_h;                  /* hours in which a young post gets most of its views */
    int64_t per_100000[COUNT_KINDS]; /* other counts per 100,000 views; COUNT_NONE if not provided */
};

static const struct platform_habits habits[PLATFORM_COUNT] = {
    [PLATFORM_TIKTOK] = {40, 8, {0, 9000, 350, 1200, 900}},
    [PLATFORM_INSTAGRAM] = {20, 10, {0, 4500, 180, 400, 700}},
    [PLATFORM_YOUTUBE] = {25, 16, {0, 3500, 250, COUNT_NONE, COUNT_NONE}},
    [PLATFORM_FACEBOOK] = {10, 12, {0, 2500, 300, 600, COUNT_NONE}},
    [PLATFORM_PINTEREST] = {5, 40, {0, 800, 40, COUNT_NONE, 2500}},
};

/* Final size of a video in percent of the author's typical views: 16 equally likely values, which approximate
 * a log-normal distribution. */
static const int64_t size_percent[16] = {18,  30,  40,  50,  60,  70,  80,  93,
                                         107, 124, 144, 168, 202, 250, 330, 570};

/* Views in each period of three hours of the day (UTC), in percent of the mean. */
static const int64_t rhythm_percent[8] = {72, 60, 77, 96, 109, 129, 142, 115};

enum purpose { FOR_SIZE = 1, FOR_NOISE, FOR_ROUNDING, FOR_VIRAL, FOR_PERIOD };

static uint64_t draw(const struct growth_moment *m, enum purpose purpose, const void *id, size_t len,
                     int64_t when)
{
    const int64_t key[2] = {(int64_t)purpose, when};
    return hash_64(str_make(id, len), hash_64(str_make((const char *)key, sizeof key), m->seed));
}

static uint64_t draw_video(const struct growth_moment *m, enum purpose purpose, const struct video *v,
                           int64_t when)
{
    return draw(m, purpose, v->id.b, sizeof v->id.b, when);
}

/* Returns value * part / of as an integer. If `random` is random, the probability of rounding up equals the
 * fractional part; if it is 0, rounds down; if it is `of` - 1, rounds up. */
static int64_t portion(int64_t value, int64_t part, int64_t of, uint64_t random)
{
    __extension__ const __int128 product = (__int128)value * part + (int64_t)(random % (uint64_t)of);
    return (int64_t)(product / of);
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* --- the gain of a video that goes viral --- */

bool growth_is_viral(const struct video *video, const struct growth_moment *m)
{
    CHECK(m->interval_ms > 0);
    const int64_t reading = m->now_ms / m->interval_ms;
    const int64_t odds = m->live / VIRAL_SHARE > VIRAL_ODDS_MIN ? m->live / VIRAL_SHARE : VIRAL_ODDS_MIN;
    return video->went_viral_at == TIME_NONE && reading % VIRAL_PERIOD < VIRAL_READINGS &&
           draw_video(m, FOR_VIRAL, video, 0) % VIRAL_SHARE == 0 &&
           draw_video(m, FOR_PERIOD, video, reading / VIRAL_PERIOD) % (uint64_t)odds == 0;
}

/* Returns the views that a viral video must gain in this reading, so that after its last viral reading it
 * exceeds the threshold by 2 to 12 percent. */
static int64_t viral_gain(const struct video *video, const struct growth_moment *m)
{
    if (!growth_is_viral(video, m))
        return 0;
    const int64_t step = m->now_ms / m->interval_ms % VIRAL_PERIOD;
    const int64_t percent = 102 + (int64_t)(draw_video(m, FOR_SIZE, video, 1) % 11);
    const int64_t goal = portion(clamp(video->viral.threshold, 0, VIEWS_MAX / 2), percent, 100, 0);
    return goal > video->views ? (goal - video->views) / (VIRAL_READINGS - step) + 1 : 0;
}

/* --- the gain of any other video, and the other counts --- */

static int64_t size_of(const struct video *video, const struct growth_moment *m)
{
    const struct viral_comparison *viral = &video->viral;
    const int64_t typical =
        viral->median != COUNT_NONE ? viral->median : viral->threshold / THRESHOLD_PER_TYPICAL;
    const int64_t size =
        clamp(typical, TYPICAL_MIN, TYPICAL_MAX) * size_percent[draw_video(m, FOR_SIZE, video, 0) % 16] / 100;
    /* In reality a video that is some days old gains little, even if the author's other videos have many more
     * views. Without this limit a simulated old video would double its views on the first day. */
    const bool is_settled = m->now_ms - video->posted_at > SETTLED_DAYS * DAY_MS;
    return is_settled && size > video->views ? video->views + video->views / SETTLED_SHARE + 1 : size;
}

/* Returns the time since the last reading in thousandths of an interval, at most 1000. */
static int64_t elapsed_milli(const struct post *post, const struct growth_moment *m)
{
    if (post->updated_at == TIME_NONE)
        return 1000;
    return clamp(m->now_ms - post->updated_at, 0, m->interval_ms) * 1000 / m->interval_ms;
}

static int64_t views_gained(const struct post *post, const struct growth_moment *m, int64_t views,
                            int64_t size)
{
    const int64_t age_h = clamp((m->now_ms - post->posted_at) / HOUR_MS, 0, 10000);
    int64_t hourly_milli = portion(size * 1000 / 24 * TRICKLE_PER_MILLE / 1000, size, size + views, 0);
    if (views < size)
        hourly_milli +=
            (size - views) * 1000 * SLOWDOWN_H / (habits[post->platform].pace_h * (SLOWDOWN_H + age_h));
    const int64_t noise_percent =
        60 + (int64_t)(draw(m, FOR_NOISE, post->post_id.p, post->post_id.len, m->now_ms) % 81);
    const int64_t speed =
        rhythm_percent[m->now_ms % DAY_MS / (3 * HOUR_MS)] * noise_percent * elapsed_milli(post, m);
    return portion(hourly_milli, speed, INT64_C(1000) * 100 * 100 * 1000,
                   draw(m, FOR_ROUNDING, post->post_id.p, post->post_id.len, m->now_ms));
}

static int64_t add_gain(int64_t known, int64_t gained)
{
    if (known >= VIEWS_MAX || gained <= 0)
        return known;
    return gained > VIEWS_MAX - known ? VIEWS_MAX : known + gained;
}

/* Returns the new likes, comments or another count (`kind`) of a post: the known count plus a part of the
 * gained views. If the count is unknown so far, computes it from all views. Returns COUNT_NONE if the
 * platform does not provide it. */
static int64_t other_count(const struct post *post, const struct growth_moment *m, int kind, int64_t gained,
                           int64_t views)
{
    const int64_t known = post->counts[kind], rate = habits[post->platform].per_100000[kind];
    const uint64_t random = draw(m, FOR_ROUNDING, post->post_id.p, post->post_id.len, m->now_ms + kind);
    if (rate == COUNT_NONE)
        return COUNT_NONE;
    if (known == COUNT_NONE)
        return add_gain(0, portion(views, rate, 100000, random));
    return add_gain(known, portion(gained, rate, 100000, random));
}

void growth_compute(const struct video *video, const struct growth_moment *m,
                    int64_t counts[PLATFORM_COUNT][COUNT_KINDS])
{
    const int64_t size = size_of(video, m), extra = viral_gain(video, m);
    int64_t weights = 0;
    for (size_t i = 0; i < video->post_count; i++)
        weights += habits[video->posts[i].platform].weight;
    for (size_t i = 0; i < video->post_count; i++) {
        const struct post *post = &video->posts[i];
        const int64_t weight = habits[post->platform].weight;
        const int64_t known = post->counts[COUNT_VIEWS] == COUNT_NONE ? 0 : post->counts[COUNT_VIEWS];
        const int64_t gained = views_gained(post, m, known, size * weight / weights + 1) +
                               portion(extra, weight, weights, (uint64_t)weights - 1);
        counts[i][COUNT_VIEWS] = add_gain(known, gained);
        for (int k = COUNT_LIKES; k < COUNT_KINDS; k++)
            counts[i][k] = other_count(post, m, k, counts[i][COUNT_VIEWS] - known, counts[i][COUNT_VIEWS]);
    }
}

/* The model in numbers. Chance is a hash of what it is about, the time and the seed, so it can be asked again
 * and in any order. */
#include "refresh/growth.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"

enum {
    TYPICAL_LEAST = 200,
    TYPICAL_MOST = 1000000000,
    LINE_TO_TYPICAL = 5,   /* of an author who has no median yet */
    WINDOW_STEPS = 9,      /* readings from one take-off to the next, */
    TAKE_OFF_STEPS = 6,    /* and over how many of them one goes */
    SMALL_AUTHOR = 8,      /* with fewer live videos not every window has one */
    VIRAL_SHARE = 3,       /* nor when a third of the live videos are viral already: */
    CALM = 8,              /* then every eighth has */
    SLOWER_EVERY_H = 48,   /* a post's pace halves in its first so many hours, */
    TRICKLE = 2000,        /* and beyond its size it gains a 2000th of that an hour, */
    TRICKLE_SLOWER_H = 240 /* ever less */
};
/* A video has five posts at most, so their sum stays a count. */
#define VIEWS_MOST (COUNT_MAX / 8)

enum { ONE_IN_FEW = 100000 }; /* rates below are parts of this */

struct platform_habits {
    int64_t weight;             /* its share of a video's views */
    int64_t pace_h;             /* hours in which a young post gains most of its views */
    int64_t rates[COUNT_KINDS]; /* for each view; COUNT_NONE: not told */
};

static const struct platform_habits habits[PLATFORM_COUNT] = {
    [PLATFORM_TIKTOK] = {40, 8, {0, 9000, 350, 1200, 900}},
    [PLATFORM_INSTAGRAM] = {20, 10, {0, 4500, 180, 400, 700}},
    [PLATFORM_YOUTUBE] = {25, 16, {0, 3500, 250, COUNT_NONE, COUNT_NONE}},
    [PLATFORM_FACEBOOK] = {10, 12, {0, 2500, 300, 600, COUNT_NONE}},
    [PLATFORM_PINTEREST] = {5, 40, {0, 800, 40, COUNT_NONE, 2500}},
};

/* A log-normal spread in 32 equal parts, in thousandths: most videos are ordinary, one in 32 is seven times
 * that. */
static const int64_t luck[32] = {144,  221,  279,  331,  379,  427,  474,  521,  569,  619,  670,
                                 723,  779,  837,  899,  965,  1036, 1112, 1194, 1284, 1383, 1493,
                                 1616, 1757, 1919, 2112, 2345, 2637, 3025, 3582, 4519, 6948};

/* Views by the hour of the day in UTC, in thousandths of the day's mean. */
static const int64_t rhythm[24] = {842,  706,  611,  567,  573,  620,  693,  775,  851,  914,  962,  1000,
                                   1038, 1086, 1149, 1225, 1307, 1380, 1427, 1433, 1389, 1294, 1158, 1000};

/* --- chance ----------------------------------------------------------------------------------------------
 */

enum lot { LOT_LUCK = 1, LOT_NOISE, LOT_VIEWS, LOT_CANDIDATE, LOT_WINDOW, LOT_HEIGHT, LOT_LIKED, LOT_COUNTS };

static uint64_t draw(const struct growth_moment *m, enum lot lot, struct str about, int64_t when)
{
    const int64_t key[2] = {(int64_t)lot, when};
    return hash_64(about, hash_64(str_make((const char *)key, sizeof key), m->seed));
}

static struct str id_text(const struct video *video)
{
    return str_make((const char *)video->id.b, sizeof video->id.b);
}

/* value * part / of, with the fraction rounded up as often as it is large. */
static int64_t portion(int64_t value, int64_t part, int64_t of, uint64_t chance)
{
    __extension__ const __int128 product = (__int128)value * part + (int64_t)(chance % (uint64_t)of);
    return (int64_t)(product / of);
}

static int64_t tick_of(const struct growth_moment *m)
{
    CHECK(m->interval_ms > 0);
    return m->now_ms / m->interval_ms;
}

/* --- taking off ------------------------------------------------------------------------------------------
 */

void take_off_begin(struct take_off *t, const struct growth_moment *m)
{
    const int64_t tick = tick_of(m);
    *t = (struct take_off){.window = tick / WINDOW_STEPS, .step = tick % WINDOW_STEPS, .least = UINT64_MAX};
}

void take_off_add(struct take_off *t, const struct growth_moment *m, const struct video *video)
{
    const uint64_t lot = draw(m, LOT_CANDIDATE, id_text(video), t->window);
    t->live++;
    if (video->went_viral_at != TIME_NONE)
        t->viral++;
    else if (lot < t->least) {
        t->least = lot;
        t->video = video->id;
    }
}

/* The lot of the video that is drawn also says whether the window has a take-off at all. */
static bool has_take_off(const struct take_off *t, const struct growth_moment *m)
{
    const struct str drawn = str_make((const char *)t->video.b, sizeof t->video.b);
    const int64_t chance = (int64_t)(draw(m, LOT_WINDOW, drawn, t->window) % CALM);
    if (t->live == t->viral || t->step >= TAKE_OFF_STEPS)
        return false;
    if (t->viral * VIRAL_SHARE >= t->live)
        return chance == 0;
    return chance < t->live; /* SMALL_AUTHOR and more: always */
}

bool take_off_is(const struct take_off *t, const struct growth_moment *m, const struct video *video)
{
    _Static_assert((int)SMALL_AUTHOR == (int)CALM, "one draw serves both");
    return video->went_viral_at == TIME_NONE && uuid_eq(&t->video, &video->id) && has_take_off(t, m);
}

/* What the whole video has to gain in this step to be over its line, by 2 to 12 percent, at the last. */
static int64_t lift(const struct take_off *t, const struct growth_moment *m, const struct video *video)
{
    const int64_t percent = 102 + (int64_t)(draw(m, LOT_HEIGHT, id_text(video), t->window) % 11);
    const int64_t line = video->viral.threshold < VIEWS_MOST / 2 ? video->viral.threshold : VIEWS_MOST / 2;
    const int64_t missing = portion(line, percent, 100, 0) - video->views;
    return missing > 0 ? missing / (TAKE_OFF_STEPS - t->step) + 1 : 0;
}

/* --- growing ---------------------------------------------------------------------------------------------
 */

/* What the video's views tend to. */
static int64_t size_of(const struct video *video, const struct growth_moment *m)
{
    int64_t typical =
        video->viral.median != COUNT_NONE ? video->viral.median : video->viral.threshold / LINE_TO_TYPICAL;
    if (typical < TYPICAL_LEAST)
        typical = TYPICAL_LEAST;
    if (typical > TYPICAL_MOST)
        typical = TYPICAL_MOST;
    return typical * luck[draw(m, LOT_LUCK, id_text(video), 0) % 32] / 1000;
}

/* Hours since the post appeared, in the thousands at most. */
static int64_t age_h(const struct post *post, const struct growth_moment *m)
{
    const int64_t age = (m->now_ms - post->posted_at) / HOUR_MS;
    return age < 0 ? 0 : age > 10000 ? 10000 : age;
}

/* An hour's views of a post that has `views` and tends to `size`, in 1000ths. */
static int64_t hourly_milli(const struct post *post, const struct growth_moment *m, int64_t views,
                            int64_t size)
{
    const int64_t age = age_h(post, m);
    const int64_t slower = SLOWER_EVERY_H + age;
    int64_t milli = 0;
    if (views < size)
        milli += (size - views) * 1000 * SLOWER_EVERY_H / (habits[post->platform].pace_h * slower);
    const int64_t trickle = size * 1000 / TRICKLE * TRICKLE_SLOWER_H / (TRICKLE_SLOWER_H + age);
    return milli + portion(trickle, size, size + views, 0);
}

/* How much of an interval has passed since the last reading, in thousandths; a longer gap is not made up for.
 */
static int64_t passed_milli(const struct post *post, const struct growth_moment *m)
{
    if (post->updated_at == TIME_NONE || m->now_ms - post->updated_at >= m->interval_ms)
        return 1000;
    return m->now_ms <= post->updated_at ? 0 : (m->now_ms - post->updated_at) * 1000 / m->interval_ms;
}

static int64_t views_gained(const struct post *post, const struct growth_moment *m, int64_t views,
                            int64_t size)
{
    const int64_t noise = 600 + (int64_t)(draw(m, LOT_NOISE, post->post_id, m->now_ms) % 801);
    const int64_t hour = m->now_ms % DAY_MS / HOUR_MS;
    const int64_t speed = rhythm[hour] * noise / 1000 * passed_milli(post, m) / 1000;
    const uint64_t chance = draw(m, LOT_VIEWS, post->post_id, m->now_ms);
    return portion(hourly_milli(post, m, views, size), speed, 1000 * 1000, chance);
}

static int64_t grown(int64_t known, int64_t gained, int64_t most)
{
    if (known >= most || gained <= 0)
        return known;
    return gained > most - known ? most : known + gained;
}

/* Some posts are liked more than others. Of views that were not counted yet all are news. */
static int64_t other_count(const struct post *post, const struct growth_moment *m, int kind, int64_t gained,
                           int64_t views)
{
    const int64_t known = post->counts[kind];
    const int64_t liked = 50 + (int64_t)(draw(m, LOT_LIKED, post->post_id, kind) % 151);
    const int64_t rate = habits[post->platform].rates[kind];
    const uint64_t chance = draw(m, LOT_COUNTS, post->post_id, m->now_ms + kind);
    if (rate == COUNT_NONE)
        return COUNT_NONE;
    const int64_t more =
        portion(known == COUNT_NONE ? views : gained, rate * liked, 100 * ONE_IN_FEW, chance);
    return grown(known == COUNT_NONE ? 0 : known, more, VIEWS_MOST);
}

void growth_of(const struct video *video, const struct growth_moment *m, const struct take_off *take_off,
               int64_t counts[PLATFORM_COUNT][COUNT_KINDS])
{
    const int64_t size = size_of(video, m);
    const int64_t extra = take_off && take_off_is(take_off, m, video) ? lift(take_off, m, video) : 0;
    int64_t weights = 0;
    for (size_t i = 0; i < video->post_count; i++)
        weights += habits[video->posts[i].platform].weight;
    for (size_t i = 0; i < video->post_count; i++) {
        const struct post *post = &video->posts[i];
        const int64_t weight = habits[post->platform].weight;
        const int64_t known = post->counts[COUNT_VIEWS] == COUNT_NONE ? 0 : post->counts[COUNT_VIEWS];
        int64_t gained = views_gained(post, m, known, size * weight / weights + 1);
        gained += portion(extra, weight, weights, UINT64_MAX);
        counts[i][COUNT_VIEWS] = grown(known, gained, VIEWS_MOST);
        for (int k = COUNT_LIKES; k < COUNT_KINDS; k++)
            counts[i][k] = other_count(post, m, k, counts[i][COUNT_VIEWS] - known, counts[i][COUNT_VIEWS]);
    }
}
